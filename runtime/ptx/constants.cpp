// What a warp's registers hold before it starts: constants and special registers.
#include <algorithm>

#include "runtime/ptx/block.h"

namespace tilec::ptx {
namespace {

struct Position {
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t warp = 0, lane = 0;
};

uint32_t value_of(Special which, const Launch& launch, const Position& at) {
  const LaunchConfig& config = launch.config;
  const std::array<uint32_t, 3>& cluster = launch.code->cluster;
  const auto axis = [&](Special first) {
    return static_cast<size_t>(which) - static_cast<size_t>(first);
  };
  const uint32_t below = (1u << at.lane) - 1;
  switch (which) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z:
      return at.thread[axis(Special::tid_x)];
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      return config.block[axis(Special::ntid_x)];
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
      return at.block[axis(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return config.grid[axis(Special::nctaid_x)];
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z: {
      const size_t i = axis(Special::clusterid_x);
      return at.block[i] / cluster[i];
    }
    case Special::nclusterid_x:
    case Special::nclusterid_y:
    case Special::nclusterid_z: {
      const size_t i = axis(Special::nclusterid_x);
      return config.grid[i] / cluster[i];
    }
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: {
      const size_t i = axis(Special::cluster_ctaid_x);
      return at.block[i] % cluster[i];
    }
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z:
      return cluster[axis(Special::cluster_nctaid_x)];
    case Special::cluster_ctarank:
      return at.block[0] % cluster[0] +
             cluster[0] * (at.block[1] % cluster[1] + cluster[1] * (at.block[2] % cluster[2]));
    case Special::cluster_nctarank:
      return cluster[0] * cluster[1] * cluster[2];
    case Special::laneid:
      return at.lane;
    case Special::warpid:
      return at.warp;
    case Special::nwarpid:
      return 64;
    case Special::lanemask_eq:
      return 1u << at.lane;
    case Special::lanemask_lt:
      return below;
    case Special::lanemask_le:
      return below | 1u << at.lane;
    case Special::lanemask_ge:
      return ~below;
    case Special::lanemask_gt:
      return ~(below | 1u << at.lane);
    case Special::dynamic_smem_size:
      return static_cast<uint32_t>(config.dynamic_shared_bytes);
    case Special::total_smem_size:
      return static_cast<uint32_t>(launch.shared_end - kSharedBegin);
    case Special::nsmid:
      return 1;
    case Special::smid:
    case Special::gridid:
      return 0;
  }
  return 0;
}

void fill_lane(std::byte* slot, Type type, size_t lane, uint64_t value) {
  if (bytes_of(type) == 8)
    reinterpret_cast<uint64_t*>(slot)[lane] = value;
  else
    reinterpret_cast<uint32_t*>(slot)[lane] = static_cast<uint32_t>(value);
}

}  // namespace

void BlockRun::fill_constants(Warp& warp) {
  const Code& code = *launch_.code;
  for (const Constant& constant : code.constants) {
    uint64_t value = constant.value;
    if (constant.base == Constant::Base::dynamic_shared) value += code.dynamic_shared;
    if (constant.base == Constant::Base::variable) value += launch_.variables[constant.variable];
    const Register& reg = code.registers[constant.reg];
    if (reg.type == Type::pred) {
      warp.lanes.predicates[reg.slot] = value != 0 ? kAllLanes : 0;
      continue;
    }
    for (size_t lane = 0; lane < kLanes; ++lane)
      fill_lane(warp.lanes.registers + reg.slot, reg.type, lane, value);
  }
  Position at{.block = coordinates(block_, launch_.config.grid), .warp = warp.index};
  for (at.lane = 0; at.lane < kLanes; ++at.lane) {
    at.thread = coordinates(warp.index * kLanes + at.lane, launch_.config.block);
    for (const auto& [which, id] : code.specials) {
      const Register& reg = code.registers[id];
      fill_lane(warp.lanes.registers + reg.slot, reg.type, at.lane, value_of(which, launch_, at));
    }
  }
}

}  // namespace tilec::ptx
