#include "runtime/device_operands.h"

#include "runtime/try.h"

namespace tilec {
namespace {

Result<Image> download_image(Device& device, Address address, const Image& like) {
  Image image = like.same_layout();
  if (image.words() > 0) TILEC_TRY(device.download(std::as_writable_bytes(image.all()), address));
  return image;
}

}  // namespace

Result<DeviceOperands> DeviceOperands::upload(Device& device, const Operands& operands) {
  DeviceOperands out;
  const std::pair<const Image*, Placed*> places[] = {
      {&operands.a, &out.a_}, {&operands.b, &out.b_}, {&operands.c, &out.c_}};
  for (const auto& [image, placed] : places) {
    const auto bytes = static_cast<int64_t>(image->all().size_bytes());
    Result<Buffer> buffer = Buffer::allocate(device, bytes);
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    if (bytes > 0) TILEC_TRY(device.upload(buffer->address(), std::as_bytes(image->all())));
    placed->first = buffer->address() + static_cast<Address>(image->first()) * sizeof(float);
    placed->buffer = std::move(*buffer);
  }
  return out;
}

KernelArguments DeviceOperands::arguments(const GemmProblem& problem) const {
  const auto& [m, n, k] = problem.shape;
  return {.a = a_.first,
          .b = b_.first,
          .c = c_.first,
          .m = m,
          .n = n,
          .k = k,
          .lda = problem.lda,
          .ldb = problem.ldb,
          .ldc = problem.ldc,
          .alpha = problem.alpha,
          .beta = problem.beta};
}

Result<void> DeviceOperands::upload_c(Device& device, const Image& c) const {
  if (c.words() == 0) return {};
  return device.upload(c_.buffer.address(), std::as_bytes(c.all()));
}

Result<Image> DeviceOperands::download_c(Device& device, const Image& like) const {
  return download_image(device, c_.buffer.address(), like);
}

Result<Operands> DeviceOperands::download(Device& device, const Operands& like) const {
  Result<Image> a = download_image(device, a_.buffer.address(), like.a);
  if (!a) return tl::unexpected(std::move(a.error()));
  Result<Image> b = download_image(device, b_.buffer.address(), like.b);
  if (!b) return tl::unexpected(std::move(b.error()));
  Result<Image> c = download_image(device, c_.buffer.address(), like.c);
  if (!c) return tl::unexpected(std::move(c.error()));
  return Operands{std::move(*a), std::move(*b), std::move(*c)};
}

}  // namespace tilec
