// Hashes of kernels that do not depend on who wrote the bytes down.
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "sim/mosaic/bytecode_writer.h"
#include "sim/mosaic/inspect.h"

namespace tilecheck::mosaic {
namespace {

std::string digest(std::string_view bytes) {
  // SHA-1 of the bytes, as a name-based UUID: 122 bits of it.
  const boost::uuids::name_generator_sha1 generate(boost::uuids::ns::oid());
  std::string text = boost::uuids::to_string(generate(bytes.data(), bytes.size()));
  std::erase(text, '-');
  return text;
}

// All that surrounds the body: signature and options.
std::string surroundings(const KernelModule& k) {
  std::string out = k.name;
  for (const ArrayType& t : k.call.operands) out.append("\n").append(to_string(t));
  for (const ArrayType& t : k.call.results) out.append("\n-> ").append(to_string(t));
  for (const Alias& a : k.call.aliases)
    out.append("\n").append(std::to_string(a.input)).append("=").append(std::to_string(a.output));
  BackendConfig config = k.config;
  config.body.clear();
  out.append("\n").append(to_json(config)).append("\n");
  return out;
}

}  // namespace

Identity identity(const KernelModule& k) {
  const std::string around = surroundings(k);
  const auto hash = [&](bool locations) {
    const std::vector<uint8_t> body = write_bytecode(k.module, {.locations = locations, .module_attrs = false});
    return digest(around + std::string(body.begin(), body.end()));
  };
  return {hash(false), hash(true)};
}

}  // namespace tilecheck::mosaic
