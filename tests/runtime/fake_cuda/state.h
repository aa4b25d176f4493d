// The fake's one state, shared by its driver and its libraries.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fake {

struct Failure {
  int status = 0;
  int skip = 0;
};

struct Module {
  std::string image;
};

struct Function {
  std::string name;
};

struct Graph {
  std::vector<std::function<void()>> launches;
};

struct Event {
  double us = 0;
};

struct State {
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::map<std::string, Function> functions;
  int live = 0;
  bool capturing = false;
  Graph captured;
  double now_us = 0;  // the fake's own clock: a launch takes 10 us, a cuBLAS call 20
  int64_t shared_bytes = 0;
  int64_t shared_limit_asked = 0;
};

State& state();

/// Counts the call; what it should return.
int entered(const char* function);

/// Runs `work` now, or later if a stream captures; it takes `us` of the fake's clock.
void enqueue(double us, std::function<void()> work);

int text(char* to, unsigned size, const char* from);

}  // namespace fake
