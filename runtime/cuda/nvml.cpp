#include "runtime/cuda/nvml.h"

#include <fmt/format.h>

#include "runtime/cuda/library.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

constexpr int kSuccess = 0;  // NVML_SUCCESS
constexpr int kSmClock = 1;  // NVML_CLOCK_SM

std::string read_text(int (*read)(char*, unsigned)) {
  char text[96] = {};
  return read(text, sizeof text - 1) == kSuccess ? std::string(text) : std::string();
}

}  // namespace

dsl::Result<Nvml> Nvml::open(const std::string& bus_id, const std::vector<std::string>& files) {
  const std::string names[] = {"libnvidia-ml.so.1"};
  const dsl::Result<Library> library =
      Library::open(files.empty() ? usual_places(names) : files, Fault::no_nvml, "NVML");
  if (!library) return tl::unexpected(library.error());
  Nvml nvml;
  Functions& functions = nvml.functions_;
  Binder binder(*library);
  binder.bind("nvmlInit_v2", functions.init);
  binder.bind("nvmlDeviceGetHandleByPciBusId_v2", functions.handle_by_bus_id);
  binder.bind("nvmlDeviceGetClockInfo", functions.clock_info);
  binder.bind("nvmlDeviceGetPowerUsage", functions.power_usage);
  binder.bind("nvmlSystemGetDriverVersion", functions.driver_version);
  binder.bind("nvmlSystemGetNVMLVersion", functions.nvml_version);
  binder.bind("nvmlErrorString", functions.error_string);
  TILEC_TRY(binder.finish(Fault::no_nvml));
  const auto fail = [&](int status, const char* call) {
    const char* words = functions.error_string(status);
    return make_error(Fault::no_nvml, fmt::format("{} failed: {} ({})", call,
                                                  words ? words : "no description", status));
  };
  if (const int status = functions.init(); status != kSuccess)
    return tl::unexpected(fail(status, "nvmlInit_v2"));
  if (const int status = functions.handle_by_bus_id(bus_id.c_str(), &nvml.device_);
      status != kSuccess)
    return tl::unexpected(fail(status, "nvmlDeviceGetHandleByPciBusId_v2"));
  nvml.driver_version_ = read_text(functions.driver_version);
  nvml.version_ = read_text(functions.nvml_version);
  return nvml;
}

double Nvml::sm_clock_mhz() const {
  unsigned mhz = 0;
  return functions_.clock_info(device_, kSmClock, &mhz) == kSuccess ? mhz : 0;
}

double Nvml::watts() const {
  unsigned milliwatts = 0;
  return functions_.power_usage(device_, &milliwatts) == kSuccess ? milliwatts / 1e3 : 0;
}

}  // namespace tilec::cuda
