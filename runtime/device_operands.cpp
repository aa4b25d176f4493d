#include "runtime/device_operands.h"

#include "runtime/try.h"

namespace tilec {
namespace {

constexpr int64_t kAlignment = 64;  // elements: each matrix begins as an allocation does

int64_t stride_of(const Image& image) {
  return (image.words() + kAlignment - 1) / kAlignment * kAlignment;
}

Result<Image> download_image(Device& device, Address address, const Image& like) {
  Image image = like.same_layout();
  if (image.words() > 0) TILEC_TRY(device.download(std::as_writable_bytes(image.all()), address));
  return image;
}

}  // namespace

Result<void> DeviceOperands::place(Device& device, std::span<const Image* const> images,
                                   dsl::Batch batch, Placed& out) {
  const Image& first = *images.front();
  const auto count = static_cast<int64_t>(images.size());
  out.stride = stride_of(first);
  const int64_t words = (count - 1) * out.stride + first.words();
  Result<Buffer> buffer = Buffer::allocate(device, words * static_cast<int64_t>(sizeof(float)));
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  out.buffer = std::move(*buffer);
  const auto element = static_cast<Address>(first.first()) * sizeof(float);
  std::vector<Address> addresses;
  for (int64_t i = 0; i < count; ++i) {
    const Image& image = *images[static_cast<size_t>(i)];
    if (image.words() > 0) TILEC_TRY(device.upload(out.image(i), std::as_bytes(image.all())));
    addresses.push_back(out.image(i) + element);
  }
  out.first = addresses.front();
  if (batch != dsl::Batch::pointers) return {};
  const auto bytes = std::as_bytes(std::span<const Address>(addresses));
  Result<Buffer> pointers = Buffer::allocate(device, static_cast<int64_t>(bytes.size()));
  if (!pointers) return tl::unexpected(std::move(pointers.error()));
  out.pointers = std::move(*pointers);
  out.first = out.pointers.address();
  return device.upload(out.first, bytes);
}

Result<DeviceOperands> DeviceOperands::upload(Device& device, std::span<const Operands> matrices,
                                              dsl::Batch batch, int64_t workspace_bytes) {
  DeviceOperands out;
  const std::pair<Image Operands::*, Placed*> places[] = {
      {&Operands::a, &out.a_}, {&Operands::b, &out.b_}, {&Operands::c, &out.c_}};
  for (const auto& [member, placed] : places) {
    std::vector<const Image*> images;
    for (const Operands& operands : matrices) images.push_back(&(operands.*member));
    TILEC_TRY(place(device, images, batch, *placed));
  }
  if (workspace_bytes > 0) {
    Result<Buffer> workspace = Buffer::allocate(device, workspace_bytes);
    if (!workspace) return tl::unexpected(std::move(workspace.error()));
    out.workspace_ = std::move(*workspace);
  }
  return out;
}

Result<DeviceOperands> DeviceOperands::upload(Device& device, const Operands& operands) {
  return upload(device, {&operands, 1}, dsl::Batch::none, 0);
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
          .beta = problem.beta,
          .workspace = workspace_.address(),
          .workspace_bytes = workspace_.bytes(),
          .batch = problem.batch,
          .stride_a = a_.stride,
          .stride_b = b_.stride,
          .stride_c = c_.stride};
}

Result<void> DeviceOperands::upload_c(Device& device, const Image& c, int64_t index) const {
  if (c.words() == 0) return {};
  return device.upload(c_.image(index), std::as_bytes(c.all()));
}

Result<Image> DeviceOperands::download_c(Device& device, const Image& like, int64_t index) const {
  return download_image(device, c_.image(index), like);
}

Result<Operands> DeviceOperands::download(Device& device, const Operands& like,
                                          int64_t index) const {
  Result<Image> a = download_image(device, a_.image(index), like.a);
  if (!a) return tl::unexpected(std::move(a.error()));
  Result<Image> b = download_image(device, b_.image(index), like.b);
  if (!b) return tl::unexpected(std::move(b.error()));
  Result<Image> c = download_image(device, c_.image(index), like.c);
  if (!c) return tl::unexpected(std::move(c.error()));
  return Operands{std::move(*a), std::move(*b), std::move(*c)};
}

int64_t device_bytes(std::span<const Operands> matrices, int64_t workspace_bytes) {
  int64_t words = 0;
  for (const Operands& operands : matrices)
    for (const Image* image : {&operands.a, &operands.b, &operands.c}) words += stride_of(*image);
  return words * static_cast<int64_t>(sizeof(float)) + workspace_bytes;
}

}  // namespace tilec
