#include "compiler/sass/loop/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace tilec::sass {
namespace {

// A value that multiply-adds read: an element of a load, of this trip or of the one before.
struct Node {
  FragmentElement element;
  bool carried = false;
  bool operator<(const Node& other) const {
    return std::tie(carried, element.load, element.element) <
           std::tie(other.carried, other.element.load, other.element.element);
  }
};

struct Fma {
  size_t op = 0;
  int accumulator = 0;  // register
  size_t a = 0;         // nodes
  size_t b = 0;
};

// What the body computes, before it is cut into steps.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Fma> fmas;  // in order of the code
};

// For each register, who wrote it last: an op, or -1.
using Writers = std::array<int, 256>;

void note_writes(const LoopOp& op, size_t index, Writers& writers) {
  for (const Operand& written : op.operands.writes())
    if (written.file == File::general)
      for (int i = 0; i < written.count; ++i)
        writers[static_cast<size_t>(written.first) + static_cast<size_t>(i)] =
            static_cast<int>(index);
}

class GraphReader {
 public:
  explicit GraphReader(const Body& body) : body_(body) {
    before_.fill(-1);
    now_.fill(-1);
    for (size_t i = 0; i < body.ops.size(); ++i) note_writes(body.ops[i], i, before_);
  }

  OrWhyNot<Graph> read() {
    for (size_t i = 0; i < body_.ops.size() && why_not_.empty(); ++i) {
      if (is_plain_fma(body_.ops[i])) {
        add_fma(i);
      } else {
        check_other(i);
      }
      note_writes(body_.ops[i], i, now_);
    }
    if (!why_not_.empty()) return WhyNot(why_not_);
    for (const auto& [accumulator, last] : sums_)
      if (result_of(body_.ops[last]) != accumulator)
        why_not_ =
            fmt::format("the sum in R{} moves to R{}", accumulator, result_of(body_.ops[last]));
    if (!why_not_.empty()) return WhyNot(why_not_);
    return std::move(graph_);
  }

 private:
  // The op that wrote what `reg` holds here, in this trip or the one before; null: none in the
  // loop.
  const LoopOp* writer_of(int reg) const {
    const int now = now_[static_cast<size_t>(reg)];
    const int writer = now >= 0 ? now : before_[static_cast<size_t>(reg)];
    return writer < 0 ? nullptr : &body_.ops[static_cast<size_t>(writer)];
  }

  size_t node_of(int reg) {
    const LoopOp* load = writer_of(reg);
    if (load == nullptr || !is_shared_load(*load)) {
      why_not_ = fmt::format("a multiply-add reads R{}, which no fragment load brings", reg);
      return 0;
    }
    const Node node{{static_cast<size_t>(load - body_.ops.data()), reg - result_of(*load)},
                    now_[static_cast<size_t>(reg)] < 0};
    const auto [at, added] = ids_.try_emplace(node, graph_.nodes.size());
    if (added) graph_.nodes.push_back(node);
    return at->second;
  }

  // The sum that an FFMA goes on with. It starts in the register that holds it between trips; on
  // its way the assembler may move it from one register to another.
  int accumulator_of(size_t index) {
    const int c = body_.ops[index].instruction.read(Slot::c);
    const int writer = now_[static_cast<size_t>(c)];
    if (writer < 0) {
      if (!sums_.try_emplace(c, index).second)
        why_not_ = fmt::format("two multiply-adds go on with R{}", c);
      return c;
    }
    for (auto& [accumulator, last] : sums_) {
      if (last != static_cast<size_t>(writer)) continue;
      last = index;
      return accumulator;
    }
    why_not_ = fmt::format("a multiply-add adds to R{}, which is no sum", c);
    return c;
  }

  void add_fma(size_t index) {
    const Instruction& fma = body_.ops[index].instruction;
    graph_.fmas.push_back(
        {index, accumulator_of(index), node_of(fma.read(Slot::a)), node_of(fma.read(Slot::b))});
  }

  // Fragments and sums are for multiply-adds alone.
  void check_other(size_t index) {
    for (const Operand& read : body_.ops[index].operands.reads()) {
      if (read.file != File::general) continue;
      for (int i = 0; i < read.count; ++i) {
        const LoopOp* writer = writer_of(read.first + i);
        if (writer != nullptr && (is_shared_load(*writer) || is_plain_fma(*writer)))
          why_not_ = fmt::format("{} reads R{}, a fragment or a sum",
                                 name_of(body_.ops[index].instruction), read.first + i);
      }
    }
  }

  const Body& body_;
  Writers before_{};
  Writers now_{};
  std::map<Node, size_t> ids_;
  std::map<int, size_t> sums_;  // accumulator to the last multiply-add on it so far
  Graph graph_;
  std::string why_not_;
};

// Disjoint sets of nodes: those that one step multiplies with each other.
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }
  size_t find(size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  void join(size_t a, size_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<size_t> parents_;
};

// The multiply-adds of each step, one an accumulator, by rising accumulator register.
OrWhyNot<std::vector<std::vector<Fma>>> split_steps(const Graph& graph) {
  Sets sets(graph.nodes.size());
  for (const Fma& fma : graph.fmas) sets.join(fma.a, fma.b);
  std::map<int, std::vector<Fma>> chains;
  for (const Fma& fma : graph.fmas) chains[fma.accumulator].push_back(fma);
  const std::vector<Fma>& first = chains.begin()->second;
  std::vector<std::vector<Fma>> steps(first.size());
  for (const auto& [accumulator, chain] : chains) {
    if (chain.size() != first.size()) return WhyNot("accumulators have sums of different lengths");
    for (size_t s = 0; s < chain.size(); ++s) {
      if (sets.find(chain[s].a) != sets.find(first[s].a))
        return WhyNot("accumulators take the steps of K in different orders");
      steps[s].push_back(chain[s]);
    }
  }
  return steps;
}

// In step `fmas`, the node of each accumulator's row: the node that it shares with the others of
// its row in the first step. `rows` says which accumulators those are.
OrWhyNot<std::vector<std::pair<size_t, size_t>>> orient(const std::vector<Fma>& fmas,
                                                        const std::vector<size_t>& rows) {
  std::vector<std::pair<size_t, size_t>> out(fmas.size());  // row's node, column's node
  std::map<size_t, size_t> row_nodes;                       // row to its node
  for (size_t i = 0; i < fmas.size(); ++i) {
    if (row_nodes.contains(rows[i])) continue;
    for (size_t j = i + 1; j < fmas.size() && !row_nodes.contains(rows[i]); ++j) {
      if (rows[j] != rows[i]) continue;
      const bool a = fmas[j].a == fmas[i].a || fmas[j].b == fmas[i].a;
      row_nodes[rows[i]] = a ? fmas[i].a : fmas[i].b;
    }
    if (!row_nodes.contains(rows[i])) return WhyNot("a fragment of one element");
  }
  for (size_t i = 0; i < fmas.size(); ++i) {
    const size_t row = row_nodes[rows[i]];
    if (fmas[i].a != row && fmas[i].b != row)
      return WhyNot("the multiply-adds of a step are no outer product");
    out[i] = {row, fmas[i].a == row ? fmas[i].b : fmas[i].a};
  }
  return out;
}

// Distinct second members' order: nodes by load, then element.
std::vector<size_t> sorted_nodes(const Graph& graph, std::vector<size_t> nodes) {
  std::ranges::sort(nodes, {}, [&](size_t node) {
    const FragmentElement& e = graph.nodes[node].element;
    return std::pair{e.load, e.element};
  });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

size_t index_in(const std::vector<size_t>& nodes, size_t node) {
  return static_cast<size_t>(std::ranges::find(nodes, node) - nodes.begin());
}

// Rows and columns of each accumulator, from the first step.
struct Grid {
  std::vector<size_t> row, column;  // by accumulator, in the order of a step's multiply-adds
  size_t rows = 0, columns = 0;
};

OrWhyNot<Grid> find_grid(const Graph& graph, const std::vector<Fma>& first) {
  // One side of the first multiply-add, then whoever shares a node with a known side is known.
  std::map<size_t, bool> is_row{{first[0].a, true}, {first[0].b, false}};
  for (bool grew = true; grew;) {
    grew = false;
    for (const Fma& fma : first) {
      if (is_row.contains(fma.a)) grew |= is_row.try_emplace(fma.b, !is_row[fma.a]).second;
      if (is_row.contains(fma.b)) grew |= is_row.try_emplace(fma.a, !is_row[fma.b]).second;
    }
  }
  std::vector<size_t> row_nodes, column_nodes;
  for (const auto& [node, row] : is_row) (row ? row_nodes : column_nodes).push_back(node);
  if (row_nodes.size() > column_nodes.size()) {
    std::swap(row_nodes, column_nodes);
    for (auto& [node, row] : is_row) row = !row;
  }
  row_nodes = sorted_nodes(graph, row_nodes);
  column_nodes = sorted_nodes(graph, column_nodes);
  Grid grid{.rows = row_nodes.size(), .columns = column_nodes.size()};
  for (const Fma& fma : first) {
    if (is_row[fma.a] == is_row[fma.b]) return WhyNot("a square of one fragment");
    grid.row.push_back(index_in(row_nodes, is_row[fma.a] ? fma.a : fma.b));
    grid.column.push_back(index_in(column_nodes, is_row[fma.a] ? fma.b : fma.a));
  }
  if (grid.rows * grid.columns != first.size() || grid.rows < 2)
    return WhyNot(fmt::format("{} multiply-adds a step are no {}x{} outer product", first.size(),
                              grid.rows, grid.columns));
  return grid;
}

OrWhyNot<Step> make_step(const Graph& graph, const std::vector<Fma>& fmas, const Grid& grid) {
  auto oriented = orient(fmas, grid.row);
  if (!oriented) return WhyNot(oriented.error());
  Step step{.rows = std::vector<FragmentElement>(grid.rows),
            .columns = std::vector<FragmentElement>(grid.columns),
            .fmas = std::vector<size_t>(fmas.size(), SIZE_MAX)};
  std::vector<size_t> row_nodes(grid.rows, SIZE_MAX), column_nodes(grid.columns, SIZE_MAX);
  size_t carried = 0;
  for (size_t i = 0; i < fmas.size(); ++i) {
    const auto& [row, column] = (*oriented)[i];
    size_t& row_node = row_nodes[grid.row[i]];
    size_t& column_node = column_nodes[grid.column[i]];
    if (row_node == SIZE_MAX) row_node = row;
    if (column_node == SIZE_MAX) column_node = column;
    size_t& fma = step.fmas[grid.row[i] * grid.columns + grid.column[i]];
    if (row_node != row || column_node != column || fma != SIZE_MAX)
      return WhyNot("the multiply-adds of a step are no outer product");
    fma = fmas[i].op;
    step.rows[grid.row[i]] = graph.nodes[row].element;
    step.columns[grid.column[i]] = graph.nodes[column].element;
    carried += static_cast<size_t>(graph.nodes[row].carried) + graph.nodes[column].carried;
  }
  if (carried != 0 && carried != 2 * fmas.size())
    return WhyNot("a step takes fragments of two trips");
  step.carried = carried != 0;
  for (const auto* elements : {&step.rows, &step.columns})
    for (const FragmentElement& element : *elements) step.loads.push_back(element.load);
  std::ranges::sort(step.loads);
  step.loads.erase(std::unique(step.loads.begin(), step.loads.end()), step.loads.end());
  return step;
}

// Whether one load brings elements i and i + 1 in both steps, or in neither; and each element the
// same in both.
bool alike(const std::vector<FragmentElement>& a, const std::vector<FragmentElement>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].element != b[i].element) return false;
    if (i > 0 && (a[i].load == a[i - 1].load) != (b[i].load == b[i - 1].load)) return false;
  }
  return true;
}

std::string check_steps(const Products& products) {
  std::map<size_t, size_t> step_of_load;
  for (size_t s = 0; s < products.steps.size(); ++s) {
    const Step& step = products.steps[s];
    if (!alike(step.rows, products.steps[0].rows) ||
        !alike(step.columns, products.steps[0].columns))
      return "steps take their fragments in different pieces";
    if (s > 0 && step.carried) return "a later step takes fragments of the trip before";
    for (const size_t load : step.loads)
      if (!step_of_load.try_emplace(load, s).second) return "one load feeds two steps";
  }
  return "";
}

}  // namespace

OrWhyNot<Products> find_products(const Body& body) {
  const OrWhyNot<Graph> graph = GraphReader(body).read();
  if (!graph) return WhyNot(graph.error());
  const auto steps = split_steps(*graph);
  if (!steps) return WhyNot(steps.error());
  const OrWhyNot<Grid> grid = find_grid(*graph, steps->front());
  if (!grid) return WhyNot(grid.error());

  Products products{.rows = grid->rows,
                    .columns = grid->columns,
                    .accumulators = std::vector<int>(steps->front().size())};
  for (size_t i = 0; i < steps->front().size(); ++i) {
    const int reg = steps->front()[i].accumulator;
    products.accumulators[grid->row[i] * grid->columns + grid->column[i]] = reg;
  }
  for (const std::vector<Fma>& fmas : *steps) {
    OrWhyNot<Step> step = make_step(*graph, fmas, *grid);
    if (!step) return WhyNot(step.error());
    products.steps.push_back(std::move(*step));
  }
  if (const std::string why_not = check_steps(products); !why_not.empty()) return WhyNot(why_not);
  return products;
}

}  // namespace tilec::sass
