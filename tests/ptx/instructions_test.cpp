// Instructions one by one, by rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/ptx/rows.h"

namespace tilec::ptx::test {
namespace {

uint64_t f(float value) {
  return std::bit_cast<uint32_t>(value);
}
uint64_t d(double value) {
  return std::bit_cast<uint64_t>(value);
}
constexpr uint64_t kNan = 0x7FFFFFFF;
constexpr uint64_t kInf = 0x7F800000;
constexpr uint64_t kTiny = 0x00000001;  // least subnormal
constexpr uint64_t kMinus0 = 0x80000000;
constexpr uint64_t m(int64_t value) {
  return static_cast<uint32_t>(value);
}

TEST(Instructions, AddAndSubtract) {
  for (const Row& row : std::initializer_list<Row>{
           {"add.s32 d, a, b", "rrr", 0x7FFFFFFF, 1, 0, 0x80000000},
           {"add.u32 d, a, 5", "rr", 0xFFFFFFFF, 0, 0, 4},
           {"add.s64 d, a, b", "qqq", 0xFFFFFFFF, 1, 0, 0x100000000},
           {"add.u16 d, a, b", "hhh", 0xFFFF, 2, 0, 1},
           {"add.sat.s32 d, a, b", "rrr", 0x7FFFFFFF, 1, 0, 0x7FFFFFFF},
           {"add.sat.s32 d, a, b", "rrr", 0x80000000, m(-1), 0, 0x80000000},
           {"sub.s32 d, a, b", "rrr", 3, 5, 0, m(-2)},
           {"sub.s32 d, a, -7", "rr", 3, 0, 0, 10},
           {"sub.u64 d, a, b", "qqq", 0, 1, 0, ~0ull},
           {"sub.sat.s32 d, a, b", "rrr", 0x80000000, 1, 0, 0x80000000},
           {"sub.s16 d, a, b", "hhh", 0, 1, 0, 0xFFFF},
       })
    check(row);
}

TEST(Instructions, Multiply) {
  for (const Row& row : std::initializer_list<Row>{
           {"mul.lo.s32 d, a, b", "rrr", 0x10001, 0x10001, 0, 0x20001},
           {"mul.lo.u64 d, a, b", "qqq", 0x100000001, 3, 0, 0x300000003},
           {"mul.lo.s16 d, a, b", "hhh", 300, 300, 0, 90000 & 0xFFFF},
           {"mul.hi.u32 d, a, b", "rrr", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE},
           {"mul.hi.s32 d, a, b", "rrr", m(-1), 5, 0, m(-1)},
           {"mul.hi.u64 d, a, b", "qqq", ~0ull, ~0ull, 0, ~0ull - 1},
           {"mul.hi.s64 d, a, b", "qqq", ~0ull, 2, 0, ~0ull},
           {"mul.hi.u16 d, a, b", "hhh", 0xFFFF, 0xFFFF, 0, 0xFFFE},
           {"mul.hi.s16 d, a, b", "hhh", 0xFFFF, 3, 0, 0xFFFF},
           {"mul.wide.u16 d, a, b", "rhh", 0xFFFF, 0xFFFF, 0, 0xFFFE0001},
           {"mul.wide.s16 d, a, b", "rhh", 0xFFFF, 2, 0, m(-2)},
           {"mul.wide.u32 d, a, b", "qrr", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE00000001},
           {"mul.wide.s32 d, a, b", "qrr", m(-2), 3, 0, static_cast<uint64_t>(-6)},
           {"mul.wide.s32 d, a, -4", "qr", m(-2), 0, 0, 8},
           {"mad.lo.s32 d, a, b, c", "rrrr", 3, 4, 5, 17},
           {"mad.lo.u64 d, a, b, c", "qqqq", 1ull << 33, 2, 1, (1ull << 34) + 1},
           {"mad.lo.u16 d, a, b, c", "hhhh", 256, 256, 7, 7},
           {"mad.hi.u32 d, a, b, c", "rrrr", 0x80000000, 4, 1, 3},
           {"mad.hi.s32 d, a, b, c", "rrrr", m(-1), 1, 1, 0},
           {"mad.hi.sat.s32 d, a, b, c", "rrrr", 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF},
           {"mad.wide.u32 d, a, b, c", "qrrq", 0xFFFFFFFF, 2, 1, 0x1FFFFFFFF},
           {"mad.wide.s32 d, a, b, c", "qrrq", m(-1), 2, 1, ~0ull},
           {"mad.wide.s16 d, a, b, c", "rhhr", 0xFFFF, 2, 1, m(-1)},
           {"mul24.lo.u32 d, a, b", "rrr", 0xFF000003, 5, 0, 15},
           {"mul24.lo.s32 d, a, b", "rrr", 0x00FFFFFF, 5, 0, m(-5)},
           {"mul24.hi.u32 d, a, b", "rrr", 0xFFFFFF, 0xFFFFFF, 0, 0xFFFFFE00},
           {"mad24.lo.s32 d, a, b, c", "rrrr", 0x00FFFFFF, 5, 6, 1},
           {"sad.s32 d, a, b, c", "rrrr", m(-3), 4, 10, 17},
           {"sad.u32 d, a, b, c", "rrrr", 4, 9, 10, 15},
           {"dp4a.s32.s32 d, a, b, c", "rrrr", 0x01FF0203, 0x01010101, 10, 15},
           {"dp4a.u32.u32 d, a, b, c", "rrrr", 0x01FF0203, 0x01010101, 10, 271},
           {"dp4a.u32.s32 d, a, b, c", "rrrr", 0x000000FF, 0x000000FF, 0, m(-255)},
       })
    check(row);
}

TEST(Instructions, DivideAndRemainder) {
  for (const Row& row : std::initializer_list<Row>{
           {"div.s32 d, a, b", "rrr", m(-7), 2, 0, m(-3)},
           {"div.u32 d, a, b", "rrr", m(-7), 2, 0, 0x7FFFFFFC},
           {"div.s32 d, a, b", "rrr", 0x80000000, m(-1), 0, 0x80000000},
           {"div.u32 d, a, b", "rrr", 7, 0, 0, 0xFFFFFFFF},
           {"div.s64 d, a, b", "qqq", static_cast<uint64_t>(-7), 2, 0, static_cast<uint64_t>(-3)},
           {"div.u16 d, a, b", "hhh", 65535, 256, 0, 255},
           {"div.s16 d, a, b", "hhh", 0xFFF9, 2, 0, 0xFFFD},
           {"rem.s32 d, a, b", "rrr", m(-7), 2, 0, m(-1)},
           {"rem.u32 d, a, b", "rrr", 7, 4, 0, 3},
           {"rem.u32 d, a, b", "rrr", 7, 0, 0, 7},
           {"rem.s32 d, a, b", "rrr", 0x80000000, m(-1), 0, 0},
           {"rem.u64 d, a, b", "qqq", 1ull << 40, 1000, 0, (1ull << 40) % 1000},
       })
    check(row);
}

TEST(Instructions, AbsoluteMinimumMaximum) {
  for (const Row& row : std::initializer_list<Row>{
           {"abs.s32 d, a", "rr", m(-5), 0, 0, 5},
           {"abs.s16 d, a", "hh", 0xFFFB, 0, 0, 5},
           {"abs.s64 d, a", "qq", static_cast<uint64_t>(-5), 0, 0, 5},
           {"neg.s32 d, a", "rr", 5, 0, 0, m(-5)},
           {"neg.s16 d, a", "hh", 5, 0, 0, 0xFFFB},
           {"neg.s64 d, a", "qq", 5, 0, 0, static_cast<uint64_t>(-5)},
           {"min.s32 d, a, b", "rrr", m(-1), 1, 0, m(-1)},
           {"min.u32 d, a, b", "rrr", m(-1), 1, 0, 1},
           {"max.s32 d, a, b", "rrr", m(-1), 1, 0, 1},
           {"max.u32 d, a, b", "rrr", m(-1), 1, 0, m(-1)},
           {"min.s16 d, a, b", "hhh", 0xFFFF, 1, 0, 0xFFFF},
           {"max.u16 d, a, b", "hhh", 0xFFFF, 1, 0, 0xFFFF},
           {"min.s64 d, a, b", "qqq", ~0ull, 1, 0, ~0ull},
           {"max.u64 d, a, b", "qqq", ~0ull, 1, 0, ~0ull},
       })
    check(row);
}

TEST(Instructions, LogicAndShifts) {
  for (const Row& row : std::initializer_list<Row>{
           {"and.b32 d, a, b", "rrr", 0xF0F0, 0xFF00, 0, 0xF000},
           {"or.b64 d, a, b", "qqq", 1ull << 40, 1, 0, (1ull << 40) | 1},
           {"xor.b16 d, a, b", "hhh", 0xFFFF, 0x00FF, 0, 0xFF00},
           {"not.b32 d, a", "rr", 0xF, 0, 0, 0xFFFFFFF0},
           {"not.b16 d, a", "hh", 0xF, 0, 0, 0xFFF0},
           {"not.b64 d, a", "qq", 0xF, 0, 0, ~0xFull},
           {"cnot.b32 d, a", "rr", 0, 0, 0, 1},
           {"cnot.b64 d, a", "qq", 7, 0, 0, 0},
           {"and.pred d, a, b", "ppp", 1, 0, 0, 0},
           {"or.pred d, a, b", "ppp", 1, 0, 0, 1},
           {"xor.pred d, a, b", "ppp", 1, 1, 0, 0},
           {"not.pred d, a", "pp", 0, 0, 0, 1},
           {"mov.pred d, a", "pp", 1, 0, 0, 1},
           {"shl.b32 d, a, b", "rrr", 1, 31, 0, 0x80000000},
           {"shl.b32 d, a, b", "rrr", 1, 32, 0, 0},
           {"shl.b64 d, a, b", "qqr", 1, 63, 0, 1ull << 63},
           {"shl.b64 d, a, b", "qqr", 1, 64, 0, 0},
           {"shl.b16 d, a, b", "hhr", 0xFF, 8, 0, 0xFF00},
           {"shr.u32 d, a, b", "rrr", 0x80000000, 31, 0, 1},
           {"shr.u32 d, a, b", "rrr", 0x80000000, 32, 0, 0},
           {"shr.s32 d, a, b", "rrr", 0x80000000, 31, 0, m(-1)},
           {"shr.s32 d, a, b", "rrr", 0x80000000, 99, 0, m(-1)},
           {"shr.s64 d, a, b", "qqr", 1ull << 63, 70, 0, ~0ull},
           {"shr.u64 d, a, b", "qqr", 1ull << 63, 63, 0, 1},
           {"shr.s16 d, a, b", "hhr", 0x8000, 15, 0, 0xFFFF},
           {"shr.u16 d, a, b", "hhr", 0x8000, 15, 0, 1},
           {"shf.l.wrap.b32 d, a, b, c", "rrrr", 0x80000001, 0x00000001, 33, 3},
           {"shf.l.clamp.b32 d, a, b, c", "rrrr", 0x80000001, 0x00000001, 33, 0x80000001},
           {"shf.r.wrap.b32 d, a, b, c", "rrrr", 0x80000001, 0x00000001, 1, 0xC0000000},
           {"shf.r.clamp.b32 d, a, b, c", "rrrr", 0x80000001, 0x00000007, 40, 7},
       })
    check(row);
}

TEST(Instructions, Bits) {
  for (const Row& row : std::initializer_list<Row>{
           {"popc.b32 d, a", "rr", 0xF0F0, 0, 0, 8},
           {"popc.b64 d, a", "rq", ~0ull, 0, 0, 64},
           {"clz.b32 d, a", "rr", 1, 0, 0, 31},
           {"clz.b32 d, a", "rr", 0, 0, 0, 32},
           {"clz.b64 d, a", "rq", 1, 0, 0, 63},
           {"brev.b32 d, a", "rr", 1, 0, 0, 0x80000000},
           {"brev.b64 d, a", "qq", 1, 0, 0, 1ull << 63},
           {"bfind.u32 d, a", "rr", 0x100, 0, 0, 8},
           {"bfind.u32 d, a", "rr", 0, 0, 0, 0xFFFFFFFF},
           {"bfind.s32 d, a", "rr", m(-1), 0, 0, 0xFFFFFFFF},
           {"bfind.shiftamt.u32 d, a", "rr", 0x100, 0, 0, 23},
           {"bfind.u64 d, a", "rq", 1ull << 40, 0, 0, 40},
           {"bfe.u32 d, a, b, c", "rrrr", 0xABCD1234, 8, 8, 0x12},
           {"bfe.s32 d, a, b, c", "rrrr", 0x0000F000, 8, 8, m(-16)},
           {"bfe.s32 d, a, b, c", "rrrr", 0x80000000, 28, 8, m(-8)},
           {"bfe.u32 d, a, b, c", "rrrr", 0xFF, 0, 0, 0},
           {"bfe.u64 d, a, b, c", "qqrr", 1ull << 40, 40, 1, 1},
           {"bfi.b32 d, a, b, c, e", "rrrrr", 0x5, 0xFFFF0000, 4, 0xFFFF0050, 8},
           {"bfi.b64 d, a, b, c, e", "qqqrr", 0x5, 0, 40, 5ull << 40, 4},
           {"bmsk.clamp.b32 d, a, b", "rrr", 4, 8, 0, 0xFF0},
           {"bmsk.wrap.b32 d, a, b", "rrr", 36, 40, 0, 0xFF0},
           {"szext.clamp.s32 d, a, b", "rrr", 0x8, 4, 0, m(-8)},
           {"szext.wrap.u32 d, a, b", "rrr", 0xFFF, 36, 0, 0xF},
           {"fns.b32 d, a, b, c", "rrrr", 0b10110, 1, 2, 2},
           {"fns.b32 d, a, b, c", "rrrr", 0b10110, 0, 9, 0xFFFFFFFF},
           {"lop3.b32 d, a, b, c, 0x80", "rrrr", 0xF0, 0xCC, 0xAA, 0x80},
           {"lop3.b32 d, a, b, c, 0x96", "rrrr", 0xF0, 0xCC, 0xAA, 0x96},
           {"lop3.b32 d, a, b, c, 0xFE", "rrrr", 0xF0, 0xCC, 0xAA, 0xFE},
           {"prmt.b32 d, a, b, 0x5410", "rrr", 0x33221100, 0x77665544, 0, 0x55441100},
           {"prmt.b32 d, a, b, 0x000B", "rrr", 0x80000000, 0, 0, 0x000000FF},
           {"prmt.b32.f4e d, a, b, c", "rrrr", 0x33221100, 0x77665544, 2, 0x55443322},
           {"prmt.b32.b4e d, a, b, c", "rrrr", 0x33221100, 0x77665544, 0, 0x55667700},
           {"prmt.b32.rc8 d, a, b, c", "rrrr", 0x33221100, 0x77665544, 2, 0x22222222},
           {"prmt.b32.ecl d, a, b, c", "rrrr", 0x33221100, 0x77665544, 1, 0x33221111},
           {"prmt.b32.ecr d, a, b, c", "rrrr", 0x33221100, 0x77665544, 2, 0x22221100},
           {"prmt.b32.rc16 d, a, b, c", "rrrr", 0x33221100, 0x77665544, 1, 0x33223322},
       })
    check(row);
}

TEST(Instructions, SelectAndCompare) {
  for (const Row& row : std::initializer_list<Row>{
           {"selp.b32 d, a, b, c", "rrrp", 7, 9, 1, 7},
           {"selp.f64 d, a, b, c", "dddp", d(1), d(2), 0, d(2)},
           {"slct.s32.s32 d, a, b, c", "rrrr", 7, 9, m(-1), 9},
           {"slct.u64.s32 d, a, b, c", "qqqr", 7, 9, 0, 7},
           {"slct.f32.f32 d, a, b, c", "ffff", f(7), f(9), kMinus0, f(7)},
           {"setp.lt.s32 d, a, b", "prr", m(-1), 0, 0, 1},
           {"setp.lt.u32 d, a, b", "prr", m(-1), 0, 0, 0},
           {"setp.lo.u32 d, a, b", "prr", 0, 1, 0, 1},
           {"setp.hs.u32 d, a, b", "prr", 1, 1, 0, 1},
           {"setp.ge.s64 d, a, b", "pqq", ~0ull, 0, 0, 0},
           {"setp.gt.u64 d, a, b", "pqq", ~0ull, 0, 0, 1},
           {"setp.le.s16 d, a, b", "phh", 0xFFFF, 0, 0, 1},
           {"setp.eq.b16 d, a, b", "phh", 5, 5, 0, 1},
           {"setp.ne.b64 d, a, b", "pqq", 1ull << 40, 0, 0, 1},
           {"setp.eq.f32 d, a, b", "pff", 0, kMinus0, 0, 1},
           {"setp.ne.f32 d, a, b", "pff", kNan, f(1), 0, 0},
           {"setp.neu.f32 d, a, b", "pff", kNan, f(1), 0, 1},
           {"setp.equ.f32 d, a, b", "pff", kNan, f(1), 0, 1},
           {"setp.lt.f32 d, a, b", "pff", f(-1), f(1), 0, 1},
           {"setp.ltu.f32 d, a, b", "pff", kNan, f(1), 0, 1},
           {"setp.geu.f32 d, a, b", "pff", f(1), f(2), 0, 0},
           {"setp.num.f32 d, a, b", "pff", f(1), kNan, 0, 0},
           {"setp.nan.f32 d, a, b", "pff", f(1), kNan, 0, 1},
           {"setp.gt.ftz.f32 d, a, b", "pff", kTiny, 0, 0, 0},
           {"setp.gt.f32 d, a, b", "pff", kTiny, 0, 0, 1},
           {"setp.gt.f64 d, a, b", "pdd", d(2), d(1), 0, 1},
           {"setp.lt.and.s32 d, a, b, c", "prrp", 1, 2, 0, 0},
           {"setp.lt.or.s32 d, a, b, c", "prrp", 3, 2, 1, 1},
           {"setp.lt.xor.s32 d, a, b, c", "prrp", 1, 2, 1, 0},
           {"setp.lt.and.s32 d, a, b, !c", "prrp", 1, 2, 0, 1},
           {"set.lt.u32.s32 d, a, b", "rrr", 1, 2, 0, 0xFFFFFFFF},
           {"set.lt.f32.s32 d, a, b", "frr", 1, 2, 0, f(1)},
           {"set.gt.and.u32.f32 d, a, b, c", "rffp", f(2), f(1), 0, 0},
           {"testp.finite.f32 d, a", "pf", kInf, 0, 0, 0},
           {"testp.notanumber.f32 d, a", "pf", kNan, 0, 0, 1},
           {"testp.subnormal.f32 d, a", "pf", kTiny, 0, 0, 1},
           {"testp.normal.f64 d, a", "pd", d(1), 0, 0, 1},
       })
    check(row);
}

TEST(Instructions, BothResultsOfSetp) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1|%p2, %r1, 7;
setp.lt.and.u32 %p3|%p4, %r1, 7, %p1;
selp.b32 %r2, 1, 0, %p1;
@%p2 or.b32 %r2, %r2, 2;
@%p3 or.b32 %r2, %r2, 4;
@!%p4 or.b32 %r2, %r2, 8;
st.global.b32 [%rd2], %r2;
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t < 7 ? 13u : 10u) << t;
}

TEST(Instructions, FloatArithmetic) {
  const float big = 3.4e38f, eps = std::ldexp(1.0f, -24);
  for (const Row& row : std::initializer_list<Row>{
           {"add.f32 d, a, b", "fff", f(1), f(eps), 0, f(1)},
           {"add.rp.f32 d, a, b", "fff", f(1), f(eps), 0, f(std::nextafter(1.0f, 2.0f))},
           {"add.rz.f32 d, a, b", "fff", f(-1), f(-eps), 0, f(-1)},
           {"add.rm.f32 d, a, b", "fff", f(-1), f(-eps), 0, f(std::nextafter(-1.0f, -2.0f))},
           {"sub.rn.f32 d, a, b", "fff", f(1), f(3), 0, f(-2)},
           {"sub.f32 d, a, b", "fff", kInf, kInf, 0, kNan},
           {"add.sat.f32 d, a, b", "fff", f(1), f(3), 0, f(1)},
           {"add.sat.f32 d, a, b", "fff", kNan, f(3), 0, f(0)},
           {"add.ftz.f32 d, a, b", "fff", kTiny, kTiny, 0, 0},
           {"add.f32 d, a, b", "fff", kTiny, kTiny, 0, 2},
           {"mul.f32 d, a, 0f40000000", "ff", f(1.5), 0, 0, f(3)},
           {"mul.f32 d, a, 2.0", "ff", f(1.5), 0, 0, f(3)},
           {"mul.f32 d, a, b", "fff", f(big), f(big), 0, kInf},
           {"mul.rz.f32 d, a, b", "fff", f(big), f(big), 0, 0x7F7FFFFF},
           {"mul.ftz.f32 d, a, b", "fff", f(1e-30f), f(1e-30f), 0, 0},
           {"fma.rn.f32 d, a, b, c", "ffff", f(1 + 2 * eps), f(1 - 2 * eps), f(-1),
            f(-4 * eps * eps)},
           {"fma.rz.f32 d, a, b, c", "ffff", f(1), f(1), f(eps / 2), f(1)},
           {"fma.rp.f32 d, a, b, c", "ffff", f(1), f(1), f(eps / 2), f(1 + 2 * eps)},
           {"fma.rn.ftz.f32 d, a, b, c", "ffff", kTiny, f(1), kTiny, 0},
           {"fma.rn.sat.f32 d, a, b, c", "ffff", f(2), f(2), f(0), f(1)},
           {"mad.rn.f32 d, a, b, c", "ffff", f(2), f(3), f(4), f(10)},
           {"div.rn.f32 d, a, b", "fff", f(1), f(3), 0, f(1.0f / 3.0f)},
           {"div.rn.f32 d, a, b", "fff", f(1), f(0), 0, kInf},
           {"div.full.f32 d, a, b", "fff", f(6), f(3), 0, f(2)},
           {"rcp.rn.f32 d, a", "ff", f(4), 0, 0, f(0.25)},
           {"sqrt.rn.f32 d, a", "ff", f(2), 0, 0, f(std::sqrt(2.0f))},
           {"sqrt.rn.f32 d, a", "ff", f(-1), 0, 0, kNan},
           {"rsqrt.approx.f32 d, a", "ff", f(4), 0, 0, f(0.5)},
           {"ex2.approx.f32 d, a", "ff", f(3), 0, 0, f(8)},
           {"lg2.approx.f32 d, a", "ff", f(8), 0, 0, f(3)},
           {"sin.approx.f32 d, a", "ff", f(0), 0, 0, f(0)},
           {"cos.approx.f32 d, a", "ff", f(0), 0, 0, f(1)},
           {"tanh.approx.f32 d, a", "ff", f(0), 0, 0, f(0)},
           {"min.f32 d, a, b", "fff", 0, kMinus0, 0, kMinus0},
           {"max.f32 d, a, b", "fff", kMinus0, 0, 0, 0},
           {"min.f32 d, a, b", "fff", kNan, f(2), 0, f(2)},
           {"max.NaN.f32 d, a, b", "fff", kNan, f(2), 0, kNan},
           {"abs.f32 d, a", "ff", f(-2), 0, 0, f(2)},
           {"neg.f32 d, a", "ff", 0, 0, 0, kMinus0},
           {"neg.ftz.f32 d, a", "ff", kTiny, 0, 0, kMinus0},
           {"copysign.f32 d, a, b", "fff", f(-1), f(3), 0, f(-3)},
           {"add.f64 d, a, b", "ddd", d(1), d(2), 0, d(3)},
           {"fma.rn.f64 d, a, b, c", "dddd", d(2), d(3), d(4), d(10)},
           {"mul.rp.f64 d, a, b", "ddd", d(1 + 0x1p-52), d(1 + 0x1p-52), 0,
            d(1 + 0x1p-51 + 0x1p-52)},
           {"div.rn.f64 d, a, b", "ddd", d(1), d(3), 0, d(1.0 / 3.0)},
           {"sqrt.rn.f64 d, a", "dd", d(2), 0, 0, d(std::sqrt(2.0))},
           {"min.f64 d, a, b", "ddd", d(1), d(2), 0, d(1)},
           {"neg.f64 d, a", "dd", d(1), 0, 0, d(-1)},
       })
    check(row);
}

TEST(Instructions, Convert) {
  for (const Row& row : std::initializer_list<Row>{
           {"cvt.u64.u32 d, a", "qr", 0xFFFFFFFF, 0, 0, 0xFFFFFFFF},
           {"cvt.s64.s32 d, a", "qr", 0xFFFFFFFF, 0, 0, ~0ull},
           {"cvt.u32.u64 d, a", "rq", 0x1234567890, 0, 0, 0x34567890},
           {"cvt.s32.s16 d, a", "rh", 0x8000, 0, 0, 0xFFFF8000},
           {"cvt.u32.u16 d, a", "rh", 0x8000, 0, 0, 0x8000},
           {"cvt.u16.u32 d, a", "hr", 0x12345678, 0, 0, 0x5678},
           {"cvt.s32.s8 d, a", "rr", 0x80, 0, 0, m(-128)},
           {"cvt.u32.u8 d, a", "rr", 0x180, 0, 0, 0x80},
           {"cvt.s16.s8 d, a", "hr", 0x80, 0, 0, 0xFF80},
           {"cvt.s8.s32 d, a", "rr", 0x180, 0, 0, m(-128)},
           {"cvt.s64.s8 d, a", "qr", 0xFF, 0, 0, ~0ull},
           {"cvt.sat.u8.s32 d, a", "rr", 300, 0, 0, 255},
           {"cvt.sat.s8.s32 d, a", "rr", m(-300), 0, 0, m(-128)},
           {"cvt.sat.u32.s64 d, a", "rq", ~0ull, 0, 0, 0},
           {"cvt.rn.f32.s32 d, a", "fr", m(-3), 0, 0, f(-3)},
           {"cvt.rn.f32.u32 d, a", "fr", 0xFFFFFFFF, 0, 0, f(4294967296.0f)},
           {"cvt.rz.f32.u32 d, a", "fr", 0xFFFFFFFF, 0, 0, f(4294967040.0f)},
           {"cvt.rn.f64.s64 d, a", "dq", ~0ull, 0, 0, d(-1)},
           {"cvt.rn.f32.u64 d, a", "fq", 1ull << 63, 0, 0, f(0x1p63f)},
           {"cvt.rzi.s32.f32 d, a", "rf", f(-2.7f), 0, 0, m(-2)},
           {"cvt.rni.s32.f32 d, a", "rf", f(2.5f), 0, 0, 2},
           {"cvt.rmi.s32.f32 d, a", "rf", f(-2.1f), 0, 0, m(-3)},
           {"cvt.rpi.u32.f32 d, a", "rf", f(2.1f), 0, 0, 3},
           {"cvt.rzi.u32.f32 d, a", "rf", f(-1), 0, 0, 0},
           {"cvt.rzi.s32.f32 d, a", "rf", f(1e20f), 0, 0, 0x7FFFFFFF},
           {"cvt.rzi.s32.f32 d, a", "rf", kNan, 0, 0, 0},
           {"cvt.rzi.u64.f64 d, a", "qd", d(0x1p63), 0, 0, 1ull << 63},
           {"cvt.rzi.s64.f32 d, a", "qf", f(-5.5f), 0, 0, static_cast<uint64_t>(-5)},
           {"cvt.f64.f32 d, a", "df", f(1.5f), 0, 0, d(1.5)},
           {"cvt.rn.f32.f64 d, a", "fd", d(1.0 / 3.0), 0, 0, f(1.0f / 3.0f)},
           {"cvt.rz.f32.f64 d, a", "fd", d(2.0 / 3.0), 0, 0, f(0.66666662693f)},
           {"cvt.rni.f32.f32 d, a", "ff", f(2.5f), 0, 0, f(2)},
           {"cvt.rmi.f32.f32 d, a", "ff", f(-2.5f), 0, 0, f(-3)},
           {"cvt.sat.f32.f32 d, a", "ff", f(-2.5f), 0, 0, f(0)},
           {"cvt.ftz.f32.f32 d, a", "ff", kTiny, 0, 0, 0},
       })
    check(row);
}

TEST(Instructions, PackAndUnpack) {
  for (const Row& row : std::initializer_list<Row>{
           {"mov.b64 d, {a, b}", "qrr", 0x11111111, 0x22222222, 0, 0x2222222211111111},
           {"mov.b32 d, {a, b}", "rhh", 0x1111, 0x2222, 0, 0x22221111},
           {"mov.b64 d, {a, b, c, e}", "qhhhh", 1, 2, 3, 0x0004000300020001, 4},
       })
    check(row);
  const Outcome outcome = run(R"(
ld.global.b64 %rd10, [%rd1];
mov.b64 {%r2, %r3}, %rd10;
mov.b32 {%h1, %h2}, %r3;
mov.b64 {%h4, %h5, %h6, _}, %rd10;
st.global.b32 [%rd2], %r2;
st.global.b16 [%rd2+8], %h1;
st.global.b16 [%rd2+16], %h2;
st.global.b16 [%rd2+24], %h6;
)",
                              {}, std::vector<uint64_t>(256, 0x4444333322221111));
  EXPECT_EQ(outcome.out[0], 0x22221111u);
  EXPECT_EQ(outcome.out[1], 0x3333u);
  EXPECT_EQ(outcome.out[2], 0x4444u);
  EXPECT_EQ(outcome.out[3], 0x3333u);
}

TEST(Instructions, CarryChains) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 0xFFFFFFFF;
mov.b32 %r3, 1;
add.cc.u32 %r4, %r2, %r3;
addc.cc.u32 %r5, %r2, %r3;
addc.u32 %r6, %r3, %r3;
sub.cc.u32 %r7, %r3, %r2;
subc.u32 %r8, %r3, %r3;
mad.lo.cc.u32 %r9, %r2, %r2, %r2;
madc.hi.u32 %r10, %r2, %r2, 0;
st.global.b32 [%rd2], %r4;
st.global.b32 [%rd2+8], %r5;
st.global.b32 [%rd2+16], %r6;
st.global.b32 [%rd2+24], %r7;
st.global.b32 [%rd2+32], %r8;
st.global.b32 [%rd2+40], %r9;
st.global.b32 [%rd2+48], %r10;
)");
  EXPECT_TRUE(outcome.result.clean());
  const std::vector<uint64_t> expected = {0, 1, 3, 2, 0xFFFFFFFF, 0, 0xFFFFFFFF};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(outcome.out[i], expected[i]) << i;
}

TEST(Instructions, GuardsKeepLanesAsTheyWere) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 7;
setp.lt.u32 %p1, %r1, 10;
@%p1 mov.b32 %r2, 8;
@!%p1 add.u32 %r2, %r2, 100;
st.global.b32 [%rd2], %r2;
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t < 10 ? 8u : 107u) << t;
}

TEST(Instructions, SpecialRegisters) {
  const Outcome outcome = run(R"(
mov.u32 %r2, %laneid;
mov.u32 %r3, %warpid;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %lanemask_lt;
mov.u32 %r6, %nctaid.x;
st.global.b32 [%rd2], %r2;
st.global.b32 [%rd2+8], %r3;
st.global.b32 [%rd2+16], %r4;
st.global.b32 [%rd2+24], %r5;
st.global.b32 [%rd2+32], %r6;
st.global.b32 [%rd2+40], %r60;
)",
                              {.threads = 70, .blocks = 2});
  for (uint32_t t = 0; t < 140; ++t) {
    const uint32_t thread = t % 70;
    EXPECT_EQ(outcome.out[t * 8], thread % 32);
    EXPECT_EQ(outcome.out[t * 8 + 1], thread / 32);
    EXPECT_EQ(outcome.out[t * 8 + 2], 70u);
    EXPECT_EQ(outcome.out[t * 8 + 3], (1u << thread % 32) - 1);
    EXPECT_EQ(outcome.out[t * 8 + 4], 2u);
    EXPECT_EQ(outcome.out[t * 8 + 5], t / 70);
  }
}

}  // namespace
}  // namespace tilec::ptx::test
