// nvJitLink, opened at run time. Its functions carry the version in their names
// (__nvJitLinkCreate_13_0), so they are looked up from the version that the library states.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/places.h"

namespace tilec::codegen {
namespace {

// From nvJitLink.h; the calling interface has been stable since 12.0.
using Handle = void*;
using Status = int;
constexpr int kInputPtx = 2;

std::vector<std::string> library_names() {
  std::vector<std::string> out;
  for (const char* name : {"libnvJitLink.so.13", "libnvJitLink.so.14", "libnvJitLink.so.12"})
    for (std::string& place : places_of(name, std::getenv("TILEC_NVJITLINK"), "lib64", "lib"))
      if (out.empty() || out.back() != place) out.push_back(std::move(place));
  return out;
}

class Library {
 public:
  Library() {
    for (const std::string& name : library_names()) {
      library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library_ != nullptr && find_version()) return;
      library_ = nullptr;
    }
  }

  explicit operator bool() const { return library_ != nullptr; }
  std::string version() const { return fmt::format("{}.{}", major_, minor_); }

  template <class F>
  F* function(const char* name) const {
    void* found = dlsym(library_, fmt::format("__nvJitLink{}_{}_{}", name, major_, minor_).c_str());
    if (found == nullptr) found = dlsym(library_, fmt::format("nvJitLink{}", name).c_str());
    return reinterpret_cast<F*>(found);
  }

 private:
  bool find_version() {
    auto* version =
        reinterpret_cast<Status (*)(unsigned*, unsigned*)>(dlsym(library_, "nvJitLinkVersion"));
    return version != nullptr && version(&major_, &minor_) == 0;
  }

  void* library_ = nullptr;  // never closed: it keeps state of its own
  unsigned major_ = 0;
  unsigned minor_ = 0;
};

struct Functions {
  Status (*create)(Handle*, uint32_t, const char**);
  Status (*destroy)(Handle*);
  Status (*add)(Handle, int, const void*, size_t, const char*);
  Status (*complete)(Handle);
  Status (*cubin_size)(Handle, size_t*);
  Status (*cubin)(Handle, void*);
  Status (*error_size)(Handle, size_t*);
  Status (*error_log)(Handle, char*);
  Status (*info_size)(Handle, size_t*);
  Status (*info_log)(Handle, char*);
};

bool find(const Library& library, Functions& out) {
  out.create = library.function<Status(Handle*, uint32_t, const char**)>("Create");
  out.destroy = library.function<Status(Handle*)>("Destroy");
  out.add = library.function<Status(Handle, int, const void*, size_t, const char*)>("AddData");
  out.complete = library.function<Status(Handle)>("Complete");
  out.cubin_size = library.function<Status(Handle, size_t*)>("GetLinkedCubinSize");
  out.cubin = library.function<Status(Handle, void*)>("GetLinkedCubin");
  out.error_size = library.function<Status(Handle, size_t*)>("GetErrorLogSize");
  out.error_log = library.function<Status(Handle, char*)>("GetErrorLog");
  out.info_size = library.function<Status(Handle, size_t*)>("GetInfoLogSize");
  out.info_log = library.function<Status(Handle, char*)>("GetInfoLog");
  return out.create && out.destroy && out.add && out.complete && out.cubin_size && out.cubin &&
         out.error_size && out.error_log && out.info_size && out.info_log;
}

std::string read_log(Handle handle, Status (*size)(Handle, size_t*), Status (*log)(Handle, char*)) {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0) return "";
  std::string text(bytes, '\0');
  if (log(handle, text.data()) != 0) return "";
  return text.substr(0, text.find('\0'));
}

}  // namespace

dsl::Result<Assembled> assemble_with_nvjitlink(const std::string& ptx, const std::string& target) {
  static const Library library;
  Functions call{};
  if (!library || !find(library, call)) {
    return tl::unexpected(
        dsl::Error::machine("no-assembler", not_found("nvJitLink", library_names()), ""));
  }
  const std::string arch = "-arch=" + target;
  // Without -no-cache a kernel seen before would come back without the words on its registers.
  const char* options[] = {arch.c_str(), "-O3", "-verbose", "-lineinfo", "-no-cache"};
  Handle handle = nullptr;
  Status status = call.create(&handle, 5, options);
  if (status == 0) status = call.add(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "tilec.ptx");
  if (status == 0) status = call.complete(handle);
  Assembled out;
  if (status == 0) {
    size_t bytes = 0;
    status = call.cubin_size(handle, &bytes);
    out.cubin.resize(bytes);
    if (status == 0) status = call.cubin(handle, out.cubin.data());
  }
  const std::string errors = handle ? read_log(handle, call.error_size, call.error_log) : "";
  out.report = read_assembler_log(handle ? read_log(handle, call.info_size, call.info_log) : "",
                                  first_entry(ptx));
  out.report.tool = "nvJitLink";
  out.report.version = library.version();
  if (handle) call.destroy(&handle);
  if (status != 0)
    return tl::unexpected(assembler_failed(
        fmt::format("nvJitLink {} (status {}, options {} -O3)", library.version(), status, arch),
        errors, ptx));
  return out;
}

}  // namespace tilec::codegen
