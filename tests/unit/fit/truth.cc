#include "truth.h"

#include <cstdlib>
#include <fstream>

namespace tilecheck::fit {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (true) {
    const size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string::npos) return parts;
    from = to + 1;
  }
}

std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted) {
      if (line[i] != '"')
        fields.back() += line[i];
      else if (i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[++i];
      else
        quoted = false;
    } else if (line[i] == '"') {
      quoted = true;
    } else if (line[i] == ',') {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

DType dtype_of(std::string text) {
  if (text == "e4m3fn" || text == "e5m2") text = "f8" + text;
  if (text == "f8e4m3b11") text = "f8e4m3b11fnuz";
  if (text == "f4e2m1") text = "f4e2m1fn";
  return parse_dtype(text).value();
}

Shape shape_of(const std::string& text) {
  Shape shape;
  if (text.empty()) return shape;
  for (const std::string& dim : split(text, 'x')) shape.push_back(std::stoll(dim));
  return shape;
}

Space space_of(const std::string& text) {
  if (text == "default" || text == "vmem") return Space::vmem;
  if (text == "smem") return Space::smem;
  if (text.find("sem") != std::string::npos) return Space::semaphore;
  return Space::any;
}

}  // namespace

std::string shared_folder() {
  const char* from_environment = std::getenv("TILECHECK_SHARED");
  return from_environment ? from_environment : std::string(TILECHECK_SOURCE_DIR) + "/../shared";
}

std::optional<std::vector<CsvRow>> read_csv(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = split_csv(line);
  std::vector<CsvRow> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = split_csv(line);
    CsvRow row;
    for (size_t i = 0; i < head.size(); ++i) row[head[i]] = i < fields.size() ? fields[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<KernelSpec> spec_of(const CsvRow& row) {
  if (row.at("ncalls") != "1") return std::nullopt;
  KernelSpec spec;
  if (!row.at("grid").empty()) {
    for (const std::string& size : split(row.at("grid"), 'x'))
      spec.grid.push_back(size == "DynamicGridDim" ? INT32_MAX : std::stoll(size));
  }
  for (const std::string& text : split(row.at("windows"), ';')) {
    if (text.empty()) continue;
    const std::vector<std::string> part = split(text, '|');
    Window w;
    w.dtype = dtype_of(part[2]);
    w.array = shape_of(part[6]);
    w.space = space_of(part[3]);
    w.trivial = part[7] == "T";
    w.buffers = part[4].empty() ? 0 : std::stoi(part[4]);
    if (!part[1].empty()) {
      for (std::string dim : split(part[1], 'x')) {
        if (dim == "N")
          w.block.push_back(BlockDim::squeezed());
        else if (dim[0] == 'E')
          w.block.push_back(BlockDim::element(std::stoll(dim.substr(1))));
        else
          w.block.emplace_back(std::stoll(dim));
      }
    }
    std::string used = part[5];
    Dependence dependence;
    if (const size_t plus = used.find("+sp"); plus != std::string::npos) {
      dependence.prefetch = true;
      used.resize(plus);
    }
    if (!used.empty())
      for (const std::string& axis : split(used, ',')) dependence.grid_axes |= 1u << std::stoi(axis);
    w.index = IndexMap(IndexMap::Function{}, std::vector{dependence});
    (part[0] == "in" ? spec.in : spec.out).push_back(std::move(w));
  }
  return spec;
}

}  // namespace tilecheck::fit
