// Statements to ops: every instruction is understood once, here. Registers are ids until flow.h
// gives them slots; each op says by Uses which registers it reads and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/ptx/diagnostics.h"
#include "runtime/ptx/program.h"
#include "runtime/ptx/syntax.h"

namespace tilec::ptx {

/// Decodes all entries of a unit. What `faults` gets makes the result unfit to run.
void decode_unit(const Unit& unit, Program& program, Faults& faults);

/// What a name means where it stands.
struct Entity {
  enum class Kind : uint8_t { reg, variable, targets } kind{};
  uint32_t reg = kNone;  // reg: the id (of the first component of a vector)
  int vector = 1;
  Type type{};            // of the register or of the variable's elements
  Space space{};          // variable
  Constant address;       // variable: in its space
  bool in_local = false;  // .param of or for a device function: lies in local memory
  int64_t bytes = 0;      // variable
};

/// The modifiers of one instruction, taken off one by one; what is left over is a fault.
class Modifiers {
 public:
  explicit Modifiers(const Instruction& instruction) : left_(instruction.modifiers) {}

  bool take(std::string_view word);
  /// The first of `words` that is there, taken; empty if none is.
  std::string_view take_any(std::initializer_list<std::string_view> words);
  bool take_prefix(std::string_view prefix);
  std::optional<Type> take_type();  // the first that names a type
  const std::vector<std::string_view>& left() const { return left_; }

 private:
  std::vector<std::string_view> left_;
};

class Decoder {
 public:
  Decoder(const Unit& unit, Program& program, Faults& faults);

  Code decode(const Function& entry);

 private:
  using Method = void (Decoder::*)(const Instruction&);

  // decode.cpp: names and statements.
  void function_body(const Function& function);
  void declare_parameters(const Function& function);
  void declare_registers(const RegisterDeclaration& declaration);
  void declare_variable(const Variable& variable);
  void declare(std::string_view name, dsl::Span span, Entity entity);
  void statement(const Statement& statement);
  void instruction(const Instruction& instruction);
  void find_labels(const Function& function);
  const Entity* find(std::string_view name);
  const Entity* find_module_variable(std::string_view name);
  void resolve_branches();
  static const std::unordered_map<std::string_view, Method>& methods();

  // decode_operands.cpp
  std::optional<uint32_t> source(const Operand& operand, Type wanted);
  std::optional<uint32_t> source_register(const Operand& operand, Type wanted);
  std::optional<uint32_t> predicate(const Operand& operand);
  std::optional<uint32_t> destination(const Operand& operand, Type wanted);
  /// A register wider than `wanted` is allowed; it is returned as it is.
  std::optional<uint32_t> wide_source(const Operand& operand, Type wanted);
  std::optional<uint32_t> wide_destination(const Operand& operand, Type wanted);
  std::optional<uint32_t> declared(const Operand& operand);
  std::optional<Constant> immediate(const Operand& operand, Type wanted);
  uint32_t constant(Constant value, Type type);
  uint32_t constant(uint64_t bits, Type type) { return constant(Constant{.value = bits}, type); }
  uint32_t special(Special which);
  uint32_t temporary(Type type);
  const Type& type_of(uint32_t reg) const { return code_.registers[reg].type; }
  void mismatch(const Operand& operand, Type declared, Type wanted);

  // Emitting.
  uint32_t emit(const Instruction& instruction, InstructionClass kind);
  uint32_t emit_lane(const Instruction& instruction, InstructionClass kind, LaneOp op, uint32_t d,
                     std::initializer_list<uint32_t> sources, bool hidden = false);
  void use(uint32_t op, Field field, uint32_t reg, bool write, uint8_t element = 0);
  uint32_t emit_control(const Instruction& instruction, InstructionClass kind, Control control);

  // decode_lanes.cpp: arithmetic.
  void lane(const Instruction& instruction);
  void lane_as(const Instruction& instruction, LaneOp op, std::string_view signature);
  void move(const Instruction& instruction);
  void pack(const Instruction& instruction, const Operand& target, const Operand& parts);
  void unpack(const Instruction& instruction, const Operand& parts, const Operand& from);
  void set_predicate(const Instruction& instruction);
  void convert_address(const Instruction& instruction);

  // decode_memory.cpp
  void load(const Instruction& instruction) { access(instruction, AccessKind::load); }
  void store(const Instruction& instruction) { access(instruction, AccessKind::store); }
  void access(const Instruction& instruction, AccessKind kind);
  bool access_data(const Operand& operand, Type type, bool load, Access& access,
                   std::vector<uint32_t>& data);
  bool take_space(Modifiers& modifiers, Space& space);
  struct Place {
    uint32_t reg = kNone;
    int64_t offset = 0;
    bool wide = true;
    bool in_local = false;
  };
  std::optional<Place> address(const Operand& operand, Space space);
  void copy_async(const Instruction& instruction);

  // decode_control.cpp
  void branch(const Instruction& instruction);
  void leave(const Instruction& instruction);
  void trap(const Instruction& instruction);
  void bar(const Instruction& instruction);
  void cluster_barrier(const Instruction& instruction, Modifiers& modifiers);
  void fence(const Instruction& instruction);
  void nothing(const Instruction& instruction);
  void indirect_branch(const Instruction& instruction);

  // decode_calls.cpp: device functions. Each has its own registers and its own stretch of local
  // memory for .param, so nothing is saved by a call; that is why there is no recursion.
  struct Callee {
    const Function* function = nullptr;
    uint32_t index = 0;                       // in Code::functions
    std::vector<Entity> results, parameters;  // in the order of the declaration
  };
  void call(const Instruction& instruction);
  Callee* callee(const Operand& name);
  Entity place_parameter(const Variable& variable);
  Entity place_register(const RegisterDeclaration& declaration);
  void declare_callee(const Callee& callee);
  bool pass(const Instruction& instruction, const Operand& list, const std::vector<Entity>& to,
            bool results);
  bool pass_one(const Instruction& instruction, const Operand& operand, const Entity& formal,
                bool result);
  void copy_local(const Instruction& instruction, uint64_t to, uint64_t from, int64_t bytes);
  bool known_function(const Instruction& instruction, std::string_view name);
  void resolve_calls();
  void refuse_recursion();

  // decode_warp.cpp: what lanes of a warp do together.
  void shuffle(const Instruction& instruction);
  void vote(const Instruction& instruction);
  void match(const Instruction& instruction);
  void reduce_warp(const Instruction& instruction);
  void elect(const Instruction& instruction);
  void collective(const Instruction& instruction, Collective made,
                  std::initializer_list<std::optional<uint32_t>> results,
                  std::initializer_list<std::optional<uint32_t>> sources, const Operand* members);

  // decode_mbarrier.cpp
  void mbarrier(const Instruction& instruction);
  void emit_mbarrier(const Instruction& instruction, Access access, const Operand* place,
                     std::optional<uint32_t> result, std::optional<uint32_t> operand);
  void copies_arrive(const Instruction& instruction, Modifiers modifiers);
  void bulk(const Instruction& instruction, Modifiers modifiers);
  void is_space(const Instruction& instruction);
  void trivial(const Instruction& instruction);

  // decode_cluster.cpp
  void map_address(const Instruction& instruction);
  void rank_of_address(const Instruction& instruction);

  // decode_matrix.cpp
  void multiply_matrices(const Instruction& instruction);
  void access_matrix(const Instruction& instruction);
  void move_matrix(const Instruction& instruction);
  bool fragment(const Operand& operand, Type type, size_t count, bool result,
                std::vector<uint32_t>& to);
  uint32_t emit_collective(const Instruction& instruction, InstructionClass kind, Collective made,
                           const std::vector<uint32_t>& results,
                           const std::vector<uint32_t>& sources);

  // decode_atomics.cpp
  void atomic(const Instruction& instruction);

  bool expect_operands(const Instruction& instruction, size_t least, size_t most);
  bool expect_no_more(const Instruction& instruction, const Modifiers& modifiers);
  void fault(std::string_view code, dsl::Span span, std::string message, std::string help = "");

  const Unit& unit_;
  Program& program_;
  Faults& faults_;
  Code code_;

  struct Scope {
    std::unordered_map<std::string_view, Entity> names;
    std::vector<RegisterDeclaration> ranges;                // %r<n>
    std::vector<uint32_t> range_begin;                      // register id of %r0
    std::unordered_map<std::string_view, uint32_t> labels;  // op index, kNone before it is known
    std::unordered_map<std::string_view, std::vector<std::string_view>> targets;
  };
  const Entity* find_in_range(std::string_view name, Scope& scope);

  std::vector<Scope> scopes_;   // all, in the order of their `{`
  std::vector<uint32_t> open_;  // indices of the open ones, outermost first
  uint32_t next_scope_ = 0;
  int64_t dynamic_align_ = 16;  // of the dynamic shared memory's begin
  struct PendingBranch {
    uint32_t control;
    uint32_t element;  // of Control::targets; kNone: Control::target
    std::string_view label;
    dsl::Span span;
    std::vector<uint32_t> scopes;
  };
  std::vector<PendingBranch> pending_;
  std::unordered_map<std::string_view, Callee> callees_;
  std::vector<std::string_view> to_decode_;                   // callees, in order
  std::vector<std::pair<uint32_t, uint32_t>> pending_calls_;  // control, index of the function
  struct CallEdge {
    uint32_t from, to;
    dsl::Span span;
  };
  std::vector<CallEdge> calls_;
  uint32_t current_function_ = 0;
  std::unordered_map<std::string_view, uint32_t> module_variables_;  // index in program
  std::unordered_map<std::string_view, Entity> shared_variables_;    // of the module, by entry
};

}  // namespace tilec::ptx
