// .npy files: written and read, and every way of being wrong.
#include "runtime/npy.h"

#include <gtest/gtest.h>

#include <set>

namespace tilec {
namespace {

std::string npy(const std::string& header, size_t data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  if (version > 1) bytes += {'\0', '\0'};
  return bytes + header + std::string(data, '\1');
}

TEST(Npy, WritesWhatNumpyWrites) {
  const ElementType& type = *find_element_type("f32");
  const auto data = fill_elements(type, 6, {.kind = Filling::Kind::index});
  const std::string bytes = write_npy(type, {2, 3}, data);
  // numpy.save of numpy.arange(6, dtype='<f4').reshape(2, 3), to the end of the header.
  std::string head = "\x93NUMPY";
  head += {'\1', '\0', 'v', '\0'};
  head += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  head.resize(127, ' ');
  head += '\n';
  ASSERT_EQ(bytes.size(), 128 + 24U);
  EXPECT_EQ(bytes.substr(0, 128), head);
  EXPECT_EQ(bytes.substr(128), std::string(reinterpret_cast<const char*>(data.data()), 24));
}

TEST(Npy, ReadsBackEveryTypeAndShape) {
  for (const ElementType& type : element_types()) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {0}, {7}, {3, 4}, {2, 0, 5}, {2, 3, 2, 2}}) {
      int64_t count = 1;
      for (int64_t extent : shape) count *= extent;
      const auto data = fill_elements(type, count, {.kind = Filling::Kind::bits});
      const auto array = read_npy("a.npy", write_npy(type, shape, data));
      ASSERT_TRUE(array) << dsl::render(array.error());
      EXPECT_EQ(array->descr, type.npy);
      EXPECT_EQ(array->shape, shape);
      EXPECT_EQ(array->data, data);
      EXPECT_EQ(array->elements(), count);
      EXPECT_TRUE(npy_fits(array->descr, type)) << type.name;
    }
  }
}

TEST(Npy, ReadsOtherHands) {
  for (const std::string& header :
       {std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }  \n"),
        std::string("{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"<f4\"}"),
        std::string("{ 'fortran_order' : False , 'shape' : (2L,) , 'descr' : '<f4' }\n")}) {
    for (char version : {1, 2, 3}) {
      const auto array = read_npy("a.npy", npy(header, 8, version));
      ASSERT_TRUE(array) << header << dsl::render(array.error());
      EXPECT_EQ(array->shape, std::vector<int64_t>{2});
    }
  }
}

struct Bad {
  std::string bytes;
  const char* code;
  const char* says;
};

std::vector<Bad> bad_files() {
  const auto header = [](const std::string& descr, const std::string& order,
                         const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  return {
      {"", "npy-not-npy", "does not begin"},
      {"PK\3\4 and so on, a .npz", "npy-not-npy", "does not begin"},
      {"\x93NUMPX", "npy-not-npy", "does not begin"},
      {npy(header("<f4", "False", "(2,)"), 8, 9), "npy-not-npy", "version 9"},
      {"\x93NUM", "npy-truncated", "ends in its header"},
      {npy(header("<f4", "False", "(2,)"), 8).substr(0, 40), "npy-truncated", "in its header"},
      {npy(header("<f4", "False", "(2,)"), 7), "npy-truncated", "7 bytes of elements; its shape 2"},
      {npy(header("<f4", "False", "(2,)"), 9), "npy-shape", "9 bytes"},
      {npy(header("<f4", "False", "(2,)").substr(0, 30) + "\n", 8), "npy-header", "dictionary"},
      {npy("{'descr': '<f4', 'shape': (2,), }\n", 8), "npy-header", "fortran_order"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8), "npy-header",
       "structures"},
      {npy(header("<f4", "False", "(2,)") + "x", 8), "npy-header", "dictionary"},
      {npy(header("<f4", "False", "2"), 8), "npy-header", "dictionary"},
      {npy(header("<f4", "Maybe", "(2,)"), 8), "npy-header", "dictionary"},
      {npy(header(">f4", "False", "(2,)"), 8), "npy-type", ">f4"},
      {npy(header("<c8", "False", "(2,)"), 16), "npy-type", "<c8"},
      {npy(header("|O", "False", "(2,)"), 16), "npy-type", "|O"},
      {npy(header("<U4", "False", "(2,)"), 16), "npy-type", "<U4"},
      {npy(header("<f3", "False", "(2,)"), 16), "npy-type", "<f3"},
      {npy(header("<f16", "False", "(2,)"), 32), "npy-type", "<f16"},
      {npy(header("<f4", "True", "(1, 2)"), 8), "npy-order", "columns first"},
      {npy(header("<f4", "False", "(-1,)"), 8), "npy-shape", "extents"},
      {npy(header("<f4", "False", "(4611686018427387904, 4)"), 8), "npy-shape", "extents"},
  };
}

TEST(Npy, RefusesWhatIsWrong) {
  std::set<std::string> seen;
  for (const Bad& bad : bad_files()) {
    const auto array = read_npy("a.npy", bad.bytes);
    ASSERT_FALSE(array) << bad.says;
    EXPECT_EQ(array.error().road, dsl::Road::user);
    const dsl::Diagnostic& found = array.error().diagnostics.front();
    EXPECT_EQ(found.code, bad.code) << found.message;
    EXPECT_TRUE(found.message.starts_with("a.npy: ")) << found.message;
    EXPECT_NE(found.message.find(bad.says), std::string::npos) << found.message;
    seen.insert(found.code);
  }
  for (std::string_view code : kNpyCodes) EXPECT_TRUE(seen.contains(std::string(code))) << code;
}

// A file cut short anywhere, or with any byte changed, is read or refused, never more.
TEST(Npy, SurvivesDamage) {
  const ElementType& type = *find_element_type("f16");
  const std::string whole =
      write_npy(type, {2, 3}, fill_elements(type, 6, {.kind = Filling::Kind::bits}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_npy("a.npy", std::string_view(whole).substr(0, size))) << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int change : {1, 0x20, 0x80}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto array = read_npy("a.npy", damaged);
      if (array) EXPECT_EQ(array->data.size() % static_cast<size_t>(array->element_bytes), 0U);
    }
  }
}

TEST(Npy, WhichArraysFillWhichBuffers) {
  struct Case {
    const char* descr;
    const char* type;
    bool fits;
  };
  for (const Case& c :
       {Case{"<f4", "f32", true}, Case{"<f4", "tf32", true}, Case{"<f8", "f32", false},
        Case{"<i4", "f32", false}, Case{"<i4", "u32", false}, Case{"<i4", "b32", true},
        Case{"<f4", "b32", true}, Case{"<u2", "bf16", true}, Case{"|V2", "bf16", true},
        Case{"<f2", "bf16", false}, Case{"|u1", "f8e4m3", true}, Case{"|b1", "u8", true},
        Case{"|b1", "s8", false}, Case{"=f4", "f32", true}})
    EXPECT_EQ(npy_fits(c.descr, *find_element_type(c.type)), c.fits) << c.descr << " " << c.type;
}

TEST(Npy, TheTypeOfAnArray) {
  const std::pair<const char*, const char*> table[] = {
      {"<f4", "f32"}, {"<f2", "f16"}, {"<f8", "f64"}, {"|i1", "s8"}, {"|b1", "u8"},
      {"<u2", "u16"}, {"<i8", "s64"}, {"<V2", ""},    {"|V1", ""},   {">f4", ""}};
  for (const auto& [descr, name] : table) {
    const ElementType* type = type_of_npy(descr);
    EXPECT_EQ(type == nullptr ? "" : type->name, name) << descr;
  }
}

}  // namespace
}  // namespace tilec
