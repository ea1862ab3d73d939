// The XLA FFI handler that stands where JAX would call a TPU: operands in, results out, an error for a finding.
#include <string>

#include "sim/types/error.h"
#include "tools/python/native/device_call.h"
#include "tools/python/native/packed.h"
#include "xla/ffi/api/ffi.h"

namespace tilecheck::python {
namespace {

namespace ffi = xla::ffi;

std::optional<DType> dtype_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F64:
      return DType::f64;
    case ffi::DataType::F32:
      return DType::f32;
    case ffi::DataType::BF16:
      return DType::bf16;
    case ffi::DataType::F16:
      return DType::f16;
    case ffi::DataType::F8E4M3FN:
      return DType::f8e4m3fn;
    case ffi::DataType::F8E5M2:
      return DType::f8e5m2;
    case ffi::DataType::F8E4M3B11FNUZ:
      return DType::f8e4m3b11fnuz;
    case ffi::DataType::F8E8M0FNU:
      return DType::f8e8m0fnu;
    case ffi::DataType::F4E2M1FN:
      return DType::f4e2m1fn;
    case ffi::DataType::S64:
      return DType::i64;
    case ffi::DataType::S32:
      return DType::i32;
    case ffi::DataType::S16:
      return DType::i16;
    case ffi::DataType::S8:
      return DType::i8;
    case ffi::DataType::S4:
      return DType::i4;
    case ffi::DataType::S2:
      return DType::i2;
    case ffi::DataType::U64:
      return DType::u64;
    case ffi::DataType::U32:
      return DType::u32;
    case ffi::DataType::U16:
      return DType::u16;
    case ffi::DataType::U8:
      return DType::u8;
    case ffi::DataType::U4:
      return DType::u4;
    case ffi::DataType::U2:
      return DType::u2;
    case ffi::DataType::PRED:
      return DType::b1;
    default:
      return std::nullopt;
  }
}

// Throws InputError for a type that no kernel takes.
CallArray call_array(const ffi::AnyBuffer& buffer) {
  const std::optional<DType> dtype = dtype_of(buffer.element_type());
  if (!dtype)
    throw InputError("operand", "XLA element type " + std::to_string(static_cast<int>(buffer.element_type())));
  Shape shape;
  for (const int64_t d : buffer.dimensions()) shape.push_back(d);
  return {{*dtype, shape}, buffer.untyped_data(), is_sub_byte(*dtype)};
}

std::vector<Alias> aliases_of(ffi::Span<const int64_t> pairs) {
  std::vector<Alias> aliases;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    aliases.push_back({static_cast<int>(pairs[i]), static_cast<int>(pairs[i + 1])});
  return aliases;
}

ffi::Error error_of(const CallStatus& status) {
  switch (status.code) {
    case CallStatus::Code::ok:
      return ffi::Error::Success();
    case CallStatus::Code::findings:
      return {ffi::ErrorCode::kFailedPrecondition, status.message};
    case CallStatus::Code::incomplete:
      return {ffi::ErrorCode::kUnimplemented, status.message};
    case CallStatus::Code::bad_input:
      return {ffi::ErrorCode::kInvalidArgument, status.message};
    case CallStatus::Code::cancelled:
      return {ffi::ErrorCode::kCancelled, status.message};
  }
  return {ffi::ErrorCode::kInternal, status.message};
}

// Where several devices meet, the last operand is this device's number.
ffi::Error handle(ffi::RunId run, std::string_view config, std::string_view name, std::string_view options,
                  ffi::Span<const int64_t> aliases, ffi::Span<const int64_t> mesh, int64_t site,
                  ffi::RemainingArgs args, ffi::RemainingRets rets) {
  try {
    CallSignature signature{.config = config, .name = name, .options = options};
    signature.aliases = aliases_of(aliases);
    for (const int64_t extent : mesh) {
      signature.mesh.push_back(extent);
      signature.devices *= static_cast<int>(extent);
    }
    const bool together = signature.devices > 1;
    DeviceArrays arrays;
    for (size_t i = 0; i < args.size() - (together ? 1 : 0); ++i) {
      arrays.operands.push_back(call_array(*args.get<ffi::AnyBuffer>(i)));
      signature.operands.push_back(arrays.operands.back().type);
    }
    for (size_t i = 0; i < rets.size(); ++i) {
      arrays.results.push_back(call_array(**rets.get<ffi::AnyBuffer>(i)));
      signature.results.push_back(arrays.results.back().type);
    }
    Caller caller{.run = run.run_id, .site = site};
    if (together)
      caller.device = *static_cast<const int32_t*>(args.get<ffi::AnyBuffer>(args.size() - 1)->untyped_data());
    return error_of(call_on_device(signature, std::move(arrays), caller));
  } catch (const std::exception& e) {
    return {ffi::ErrorCode::kInvalidArgument, e.what()};
  }
}

}  // namespace
}  // namespace tilecheck::python

#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(tilecheck_call, tilecheck::python::handle,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::RunId>()
                                  .Attr<std::string_view>("config")
                                  .Attr<std::string_view>("name")
                                  .Attr<std::string_view>("options")
                                  .Attr<xla::ffi::Span<const int64_t>>("aliases")
                                  .Attr<xla::ffi::Span<const int64_t>>("mesh")
                                  .Attr<int64_t>("site")
                                  .RemainingArgs()
                                  .RemainingRets());
#pragma GCC visibility pop
