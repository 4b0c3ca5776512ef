#include "text/template_run.h"

#include <algorithm>
#include <optional>

#include "core/error.h"

namespace headlight::text {
namespace {

using Node = TemplateNode;
using Value = TemplateValue;
using Scope = std::map<std::string, Value, std::less<>>;

constexpr std::size_t kLargestText = std::size_t{64} << 20;  // bytes that are made on the way, and a charge for each step
constexpr std::size_t kPasses = 64;                          // over the whole chat, on top
constexpr std::size_t kStepCost = 32;
constexpr unsigned kDeepestRun = 700;
/// strftime_now() gives this day, so that a chat has the same tokens on every day.
constexpr std::string_view kDate[][2] = {{"%d", "26"},   {"%e", "26"}, {"%-d", "26"},    {"%b", "Jul"}, {"%B", "July"},
                                         {"%Y", "2024"}, {"%m", "07"}, {"%A", "Friday"}, {"%a", "Fri"}, {"%y", "24"},
                                         {"%H", "12"},   {"%M", "00"}, {"%S", "00"}};

/// An Error that names its line already.
class PlacedError : public Error {
 public:
  using Error::Error;
};

class Run {
 public:
  explicit Run(const TemplateJson& variables) : budget_(kLargestText + kPasses * cost_of(variables)) {
    Scope& globals = scopes_.emplace_back();
    for (const auto& [name, value] : variables.items()) globals[name] = value_of(value);
  }

  std::string text(const Node& whole) {
    execute(whole);
    return std::move(out_);
  }

 private:
  enum class Flow { On, Break, Continue };

  /// Counts a step, bounds recursion, and names the line of errors.
  template <typename Do>
  auto at(const Node& node, Do act) {
    budget_.spend(kStepCost);
    if (depth_ >= kDeepestRun) throw PlacedError("line {}: macros call each other too deeply", node.line);
    ++depth_;
    struct Leave {
      unsigned& depth;
      ~Leave() { --depth; }
    } leave{depth_};
    try {
      return act();
    } catch (const PlacedError&) {
      throw;
    } catch (const Error& error) {
      throw PlacedError("line {}: {}", node.line, error.what());
    }
  }

  void write(std::string_view text) {
    budget_.spend(text.size());
    out_ += text;
  }

  Flow execute(const Node& node) {
    return at(node, [&] { return statement(node); });
  }

  Flow statement(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Block:
        for (const Node& part : node.parts) {
          if (const Flow flow = execute(part); flow != Flow::On) return flow;
        }
        return Flow::On;
      case Node::Kind::Text:
        write(node.text);
        return Flow::On;
      case Node::Kind::Output:
        write(to_python_text(evaluate(node.parts[0])));
        return Flow::On;
      case Node::Kind::If:
        return execute(node.parts[is_true(evaluate(node.parts[0])) ? 1 : 2]);
      case Node::Kind::For:
        return loop(node);
      case Node::Kind::Set:
        set(node.parts[0], node.parts[1].kind == Node::Kind::Block ? written_by(node.parts[1]) : evaluate(node.parts[1]));
        return Flow::On;
      case Node::Kind::Macro:
        scopes_.back()[node.text] = {.macro = &node};
        return Flow::On;
      case Node::Kind::Break:
        return Flow::Break;
      case Node::Kind::Continue:
        return Flow::Continue;
      default:
        throw Error("an expression stands where a statement belongs");
    }
  }

  /// What a block writes, as a value.
  Value written_by(const Node& block) {
    std::string before = std::exchange(out_, {});
    scopes_.emplace_back();
    execute(block);
    scopes_.pop_back();
    return value_of(std::exchange(out_, std::move(before)));
  }

  void set(const Node& targets, const Value& value) {
    if (targets.parts.size() == 1) return set_one(targets.parts[0], value);
    const std::vector<Value> parts = elements_of(value);
    if (parts.size() != targets.parts.size()) throw Error("{} names for {} values", targets.parts.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) set_one(targets.parts[i], parts[i]);
  }

  void set_one(const Node& target, const Value& value) {
    if (target.kind == Node::Kind::Name) {
      scopes_.back()[target.text] = value;
      return;
    }
    const Value space = evaluate(target.parts[0]);
    if (!space.members) throw Error("only a namespace's members can be set");
    (*space.members)[target.text] = value;
  }

  Flow loop(const Node& node) {
    const Value list = evaluate(node.parts[1]);
    charge(list);
    std::vector<Value> items = elements_of(list);
    const bool has_condition = node.parts[2].kind != Node::Kind::Literal;
    if (has_condition) {
      std::erase_if(items, [&](const Value& item) {
        scopes_.emplace_back();
        set(node.parts[0], item);
        const bool keeps = is_true(evaluate(node.parts[2]));
        scopes_.pop_back();
        return !keeps;
      });
    }
    if (items.empty()) return execute(node.parts[4]);
    const std::size_t scopes = scopes_.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      scopes_.emplace_back()["loop"] = loop_variable(items, i);
      set(node.parts[0], items[i]);
      const Flow flow = execute(node.parts[3]);
      scopes_.resize(scopes);
      if (flow == Flow::Break) break;
    }
    return Flow::On;
  }

  static Value loop_variable(const std::vector<Value>& items, std::size_t i) {
    Value loop{.members = std::make_shared<Scope>()};
    Scope& members = *loop.members;
    members["index"] = value_of(i + 1);
    members["index0"] = value_of(i);
    members["revindex"] = value_of(items.size() - i);
    members["revindex0"] = value_of(items.size() - i - 1);
    members["length"] = value_of(items.size());
    members["first"] = value_of(i == 0);
    members["last"] = value_of(i + 1 == items.size());
    if (i > 0) members["previtem"] = items[i - 1];
    if (i + 1 < items.size()) members["nextitem"] = items[i + 1];
    return loop;
  }

  /// What reading the parts of a value costs.
  void charge(const Value& value) {
    if (value.data) budget_.spend(cost_of(*value.data));
  }

  Value find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    }
    return {};
  }

  Value evaluate(const Node& node) {
    return at(node, [&] { return expression(node); });
  }

  Value expression(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Literal:
        return value_of(node.value);
      case Node::Kind::Name:
        return find(node.text);
      case Node::Kind::List:
      case Node::Kind::Dict:
        return collection(node);
      case Node::Kind::Attribute:
        return item_of(evaluate(node.parts[0]), value_of(node.text));
      case Node::Kind::Item: {
        const Value of = evaluate(node.parts[0]);
        if (of.is_text()) charge(of);
        return item_of(of, evaluate(node.parts[1]));
      }
      case Node::Kind::Slice: {
        const Value of = evaluate(node.parts[0]);
        charge(of);
        return slice_of(of, evaluate(node.parts[1]), evaluate(node.parts[2]), evaluate(node.parts[3]));
      }
      case Node::Kind::Call:
        return call(node);
      case Node::Kind::Filter: {
        const Value of = evaluate(node.parts[0]);
        charge(of);
        return apply_template_filter(node.text, of, arguments(node), budget_);
      }
      case Node::Kind::Test: {
        const Value of = evaluate(node.parts[0]);
        return value_of(meets_template_test(node.text, of, arguments(node)));
      }
      case Node::Kind::Unary: {
        const Value of = evaluate(node.parts[0]);
        if (node.text == "not") return value_of(!is_true(of));
        return operate(node.text, value_of(0), of, budget_);
      }
      case Node::Kind::Binary:
        return binary(node);
      case Node::Kind::Choice:
        return evaluate(node.parts[is_true(evaluate(node.parts[0])) ? 1 : 2]);
      default:
        throw Error("a statement stands where an expression belongs");
    }
  }

  Value binary(const Node& node) {
    const Value left = evaluate(node.parts[0]);
    if (node.text == "and") return is_true(left) ? evaluate(node.parts[1]) : left;
    if (node.text == "or") return is_true(left) ? left : evaluate(node.parts[1]);
    const Value right = evaluate(node.parts[1]);
    if (node.text == "in" || node.text == "==" || node.text == "!=") charge(right);
    return operate(node.text, left, right, budget_);
  }

  Value collection(const Node& node) {
    TemplateJson all = node.kind == Node::Kind::List ? TemplateJson::array() : TemplateJson::object();
    std::string key;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const Value part = evaluate(node.parts[i]);
      charge(part);
      if (!part.data) {
        if (part.is_undefined()) continue;
        throw Error("a namespace or a macro is in a list");
      }
      if (node.kind == Node::Kind::List) {
        all.push_back(*part.data);
      } else if (i % 2 == 0) {
        key = to_python_text(part);
      } else {
        all[key] = *part.data;
      }
    }
    return value_of(std::move(all));
  }

  TemplateArguments arguments(const Node& node) {
    TemplateArguments all;
    for (std::size_t i = 1; i < node.parts.size(); ++i) {
      if (node.parts[i].kind == Node::Kind::Named) {
        all.named[node.parts[i].text] = evaluate(node.parts[i].parts[0]);
      } else {
        all.list.push_back(evaluate(node.parts[i]));
      }
    }
    return all;
  }

  Value call(const Node& node) {
    const Node& callee = node.parts[0];
    if (callee.kind == Node::Kind::Attribute) {
      const Value of = evaluate(callee.parts[0]);
      charge(of);
      return call_method(of, callee.text, arguments(node), budget_);
    }
    const Value macro = evaluate(callee);
    const TemplateArguments given = arguments(node);
    if (macro.macro != nullptr) return call_macro(*macro.macro, given);
    if (callee.kind != Node::Kind::Name) throw Error("a call of what is no function");
    return call_function(callee.text, given);
  }

  Value call_macro(const Node& macro, const TemplateArguments& given) {
    Scope own;
    const std::vector<Node>& parameters = macro.parts[0].parts;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value value = given.get(i, parameters[i].text);
      if (value.is_undefined() && !parameters[i].parts.empty()) value = evaluate(parameters[i].parts[0]);
      own[parameters[i].text] = std::move(value);
    }
    // It sees what the template's outermost level defines, and its own parameters.
    std::vector<Scope> outer(std::make_move_iterator(scopes_.begin() + 1), std::make_move_iterator(scopes_.end()));
    scopes_.resize(1);
    scopes_.push_back(std::move(own));
    Value written = written_by(macro.parts[1]);
    scopes_.resize(1);
    scopes_.insert(scopes_.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
    return written;
  }

  Value call_function(const std::string& name, const TemplateArguments& given) {
    if (name == "raise_exception") throw PlacedError("it refuses this chat: {}", to_python_text(given.get(0, "message")));
    if (name == "namespace") return {.members = std::make_shared<Scope>(given.named)};
    if (name == "strftime_now") return value_of(date(to_python_text(given.get(0, "format"))));
    if (name == "range") return range(given);
    if (name == "dict") {
      TemplateJson all = TemplateJson::object();
      for (const auto& [key, value] : given.named) {
        charge(value);
        if (value.data) all[key] = *value.data;
      }
      return value_of(std::move(all));
    }
    throw Error("Headlight doesn't know the function {}()", name);
  }

  static std::string date(const std::string& format) {
    std::string text;
    for (std::size_t at = 0; at < format.size();) {
      const auto found = std::ranges::find_if(
          kDate, [&](const auto& part) { return std::string_view(format).substr(at).starts_with(part[0]); });
      text += found == std::end(kDate) ? std::string_view(format).substr(at, 1) : (*found)[1];
      at += found == std::end(kDate) ? 1 : (*found)[0].size();
    }
    return text;
  }

  Value range(const TemplateArguments& given) {
    std::int64_t bounds[3] = {0, 0, 1};
    const std::size_t count = given.list.size();
    if (count == 0 || count > 3) throw Error("range() takes one to three numbers");
    for (std::size_t i = 0; i < count; ++i) {
      const Value& bound = given.list[i];
      if (!bound.data || !bound.data->is_number_integer()) throw Error("range() takes whole numbers");
      bounds[count == 1 ? 1 : i] = bound.data->get<std::int64_t>();
    }
    if (bounds[2] == 0) throw Error("range() has the step 0");
    TemplateJson list = TemplateJson::array();
    for (std::int64_t at = bounds[0]; bounds[2] > 0 ? at < bounds[1] : at > bounds[1];) {
      budget_.spend(kStepCost);
      list.push_back(at);
      if (__builtin_add_overflow(at, bounds[2], &at)) break;
    }
    return value_of(std::move(list));
  }

  TemplateBudget budget_;
  std::vector<Scope> scopes_;  ///< the outermost first
  std::string out_;
  unsigned depth_ = 0;
};

}  // namespace

std::string run_template(const TemplateNode& parsed, const TemplateJson& variables) { return Run(variables).text(parsed); }

}  // namespace headlight::text
