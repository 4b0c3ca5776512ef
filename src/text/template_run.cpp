#include "text/template_run.h"

#include <algorithm>

#include "text/template_functions.h"

namespace headlight::text {
namespace {

using Node = TemplateNode;
using Kind = TemplateNode::Kind;
using Value = TemplateValue;
using Scope = TemplateScope;

constexpr unsigned kDeepestRun = 700;

/// An Error that names its line already.
class PlacedError : public Error {
 public:
  using Error::Error;
};

class Run {
 public:
  Run(const ChatJson& variables, Budget& budget) : heap_(budget) {
    Scope& globals = scopes_.emplace_back();
    for (const auto& [name, value] : variables.get_ref<const ChatJson::object_t&>()) globals[name] = heap_.json(value);
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
    heap_.spend(Budget::kStep);
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

  Flow execute(const Node& node) {
    return at(node, [&] { return statement(node); });
  }

  Flow statement(const Node& node) {
    switch (node.kind) {
      case Kind::Block:
        for (const Node& part : node.parts) {
          if (const Flow flow = execute(part); flow != Flow::On) return flow;
        }
        return Flow::On;
      case Kind::Text:
        heap_.spend(node.text.size());
        out_ += node.text;
        return Flow::On;
      case Kind::Output:
        out_ += to_python_text(evaluate(node.parts[0]), heap_);
        return Flow::On;
      case Kind::If:
        return execute(node.parts[is_true(evaluate(node.parts[0])) ? 1 : 2]);
      case Kind::For:
        loop(node, evaluate(node.parts[1]));
        return Flow::On;
      case Kind::Set:
        set(node.parts[0], node.parts[1].kind == Kind::Block ? written_by(node.parts[1]) : evaluate(node.parts[1]));
        return Flow::On;
      case Kind::With:
        return with(node);
      case Kind::Macro:
        scopes_.back()[node.text] = heap_.callable({.macro = &node});
        return Flow::On;
      case Kind::CallBlock:
        out_ += to_python_text(call(node.parts[0], heap_.callable({.macro = &node.parts[1], .scopes = scopes_})), heap_);
        return Flow::On;
      case Kind::Break:
        return Flow::Break;
      case Kind::Continue:
        return Flow::Continue;
      case Kind::Unknown:
        throw Error("Headlight doesn't know the tag {{% {} %}}", node.text);
      default:
        throw Error("an expression stands where a statement belongs");
    }
  }

  /// Executes a block and returns its output as a value.
  Value written_by(const Node& block) {
    std::string before = std::exchange(out_, {});
    scopes_.emplace_back();
    execute(block);
    scopes_.pop_back();
    return heap_.text(std::exchange(out_, std::move(before)));
  }

  /// The text of a block after its filters, which have it by the name of the block's second part.
  Value filtered(const Node& node) {
    scopes_.emplace_back()[""] = written_by(node.parts[1]);
    const Value value = evaluate(node.parts[0]);
    scopes_.pop_back();
    return value;
  }

  Flow with(const Node& node) {
    Scope own;
    for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) own[node.parts[i].text] = evaluate(node.parts[i + 1]);
    scopes_.push_back(std::move(own));
    const Flow flow = execute(node.parts.back());
    scopes_.pop_back();
    return flow;
  }

  void set(const Node& targets, const Value& value) {
    if (targets.kind != Kind::Tuple) return set_one(targets, value);
    const TemplateValues parts = elements_of(value, heap_);
    if (parts.size() != targets.parts.size()) throw Error("{} names for {} values", targets.parts.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) set(targets.parts[i], parts[i]);
  }

  void set_one(const Node& target, const Value& value) {
    heap_.spend(Budget::kNode);
    if (target.kind == Kind::Name) {
      scopes_.back()[target.text] = value;
      return;
    }
    TemplateSpace* space = evaluate(target.parts[0]).space();
    if (space == nullptr) throw Error("only a namespace's members can be set");
    space->members[target.text] = value;
  }

  void loop(const Node& node, const Value& list) {
    TemplateValues items = elements_of(list, heap_);
    if (node.parts[2].kind != Kind::Block) {
      std::erase_if(items, [&](const Value& item) {
        scopes_.emplace_back();
        set(node.parts[0], item);
        const bool keeps = is_true(evaluate(node.parts[2]));
        scopes_.pop_back();
        return !keeps;
      });
    }
    if (items.empty()) {
      execute(node.parts[4]);
      return;
    }
    const Value variable = heap_.space({{"depth", {std::int64_t{1}}}, {"depth0", {std::int64_t{0}}}}, true);
    const std::size_t scopes = scopes_.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      place_loop(variable.space()->members, items, i);
      scopes_.emplace_back()["loop"] = variable;
      set(node.parts[0], items[i]);
      const Flow flow = execute(node.parts[3]);
      scopes_.resize(scopes);
      if (flow == Flow::Break) break;
    }
  }

  static void place_loop(Scope& members, const TemplateValues& items, std::size_t i) {
    const auto at = static_cast<std::int64_t>(i), size = static_cast<std::int64_t>(items.size());
    members["index"] = {at + 1};
    members["index0"] = {at};
    members["revindex"] = {size - at};
    members["revindex0"] = {size - at - 1};
    members["length"] = {size};
    members["first"] = {i == 0};
    members["last"] = {at + 1 == size};
    members["previtem"] = i > 0 ? items[i - 1] : Value();
    members["nextitem"] = i + 1 < items.size() ? items[i + 1] : Value();
  }

  Value find(TemplateText name) const {
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
      case Kind::Literal:
        return std::visit([](const auto& value) { return Value{value}; }, node.value);
      case Kind::Text:
        return {TemplateText(node.text)};
      case Kind::Name:
        return find(node.text);
      case Kind::List:
      case Kind::Tuple:
        return heap_.list(evaluated(node.parts), node.kind == Kind::Tuple);
      case Kind::Dict: {
        const TemplateValues parts = evaluated(node.parts);
        std::vector<std::pair<Value, Value>> members;
        for (std::size_t i = 0; i < parts.size(); i += 2) members.emplace_back(parts[i], parts[i + 1]);
        return heap_.dict(members);
      }
      case Kind::Attribute:
        return attribute_of(evaluate(node.parts[0]), node.text, heap_);
      case Kind::Item: {
        const Value of = evaluate(node.parts[0]), key = evaluate(node.parts[1]);
        const Value found = item_of(of, key, heap_);
        return found.is_undefined() && key.is_text() ? attribute_of(of, key.text(), heap_) : found;
      }
      case Kind::Slice: {
        const TemplateValues parts = evaluated(node.parts);
        return slice_of(parts[0], parts[1], parts[2], parts[3], heap_);
      }
      case Kind::Filtered:
        return filtered(node);
      case Kind::Call:
        return call(node, {});
      case Kind::Filter:
      case Kind::Test: {
        const Value of = evaluate(node.parts[0]);
        return apply_template_function(node.kind == Kind::Filter ? TemplateUse::Filter : TemplateUse::Test, node.text, of,
                                       arguments(node), heap_);
      }
      case Kind::Unary: {
        const Value of = evaluate(node.parts[0]);
        if (node.text == "not") return {!is_true(of)};
        return node.text == "-" && of.is<double>() ? Value{-of.real()} : operate(node.text, {std::int64_t{0}}, of, heap_);
      }
      case Kind::Binary: {
        const Value left = evaluate(node.parts[0]);
        if (node.text == "and") return is_true(left) ? evaluate(node.parts[1]) : left;
        if (node.text == "or") return is_true(left) ? left : evaluate(node.parts[1]);
        return operate(node.text, left, evaluate(node.parts[1]), heap_);
      }
      case Kind::Compare: {
        Value left = evaluate(node.parts[0]);
        for (std::size_t i = 1; i < node.parts.size(); ++i) {
          const Value right = evaluate(node.parts[i].parts[0]);
          if (!compare(node.parts[i].text, left, right, heap_)) return {false};
          left = right;
        }
        return {true};
      }
      case Kind::Choice:
        return evaluate(node.parts[is_true(evaluate(node.parts[0])) ? 1 : 2]);
      default:
        throw Error("a statement stands where an expression belongs");
    }
  }

  TemplateValues evaluated(const std::vector<Node>& nodes) {
    TemplateValues values;
    for (const Node& node : nodes) values.push_back(evaluate(node));
    return values;
  }

  /// Evaluates all parts but the first, as arguments.
  TemplateArguments arguments(const Node& node) {
    TemplateArguments all;
    for (std::size_t i = 1; i < node.parts.size(); ++i) {
      const Node& part = node.parts[i];
      const Value value = evaluate(part.kind == Kind::Named ? part.parts[0] : part);
      if (part.kind != Kind::Named) {
        all.list.push_back(value);
      } else {
        all.named.emplace_back(part.text, value);
      }
    }
    return all;
  }

  Value call(const Node& node, const Value& caller) {
    const Node& callee = node.parts[0];
    const Value function = evaluate(callee);
    TemplateArguments given = arguments(node);
    if (!caller.is_undefined()) given.named.emplace_back("caller", caller);
    if (const TemplateCallable* found = function.callable()) {
      if (found->macro != nullptr) return call_macro(*found, std::move(given));
      return call_template_function(*found->function, found->of, given, heap_);
    }
    if (!function.is_undefined()) throw Error("a call of {}, which is no function", kind_of(function));
    if (callee.kind == Kind::Attribute) throw Error("Headlight doesn't know the method {}()", callee.text);
    if (callee.kind != Kind::Name) throw Error("a call of what is no function");
    if (callee.text == "raise_exception")
      throw PlacedError("it refuses this chat: {}", given.list.empty() ? "" : to_python_text(given.list[0], heap_));
    return apply_template_function(TemplateUse::Global, callee.text, {}, given, heap_);
  }

  Value call_macro(const TemplateCallable& callable, TemplateArguments given) {
    const Node& macro = *callable.macro;
    const auto names = [&](TemplateText name) {
      return std::ranges::any_of(macro.parts[2].parts, [&](const Node& special) { return special.text == name; });
    };
    Scope own;
    std::size_t place = 0;
    for (const Node& parameter : macro.parts[0].parts) {
      const auto found = std::ranges::find(given.named, parameter.text, [](const auto& one) { return one.first; });
      heap_.spend(Budget::kStep + given.named.size());
      Value& value = own[parameter.text];
      if (place < given.list.size())
        value = given.list[place++];
      else if (found != given.named.end())
        value = found->second;
      else if (!parameter.parts.empty())
        value = evaluate(parameter.parts[0]);
      if (found != given.named.end()) given.named.erase(found);
    }
    const auto caller = std::ranges::find(given.named, "caller", [](const auto& one) { return one.first; });
    if (names("caller") && caller != given.named.end()) {
      own["caller"] = caller->second;
      given.named.erase(caller);
    }
    if (names("varargs"))
      own["varargs"] = heap_.list({given.list.begin() + static_cast<std::ptrdiff_t>(place), given.list.end()}, true);
    else if (place < given.list.size())
      throw Error("the macro {} takes {} arguments", macro.text, place);
    std::vector<std::pair<Value, Value>> others;
    for (const auto& [name, value] : given.named) others.emplace_back(Value{name}, value);
    if (names("kwargs"))
      own["kwargs"] = heap_.dict(others);
    else if (!others.empty())
      throw Error("the macro {} has no argument \"{}\"", macro.text, others[0].first.text());
    // A macro sees the names of the template's outermost level, a caller those of its place; both see their own
    // parameters.
    std::vector<Scope> before = callable.scopes;
    before.swap(scopes_);
    if (scopes_.empty()) scopes_.push_back(before.front());
    scopes_.push_back(std::move(own));
    const Value written = written_by(macro.parts[1]);
    scopes_ = std::move(before);
    return written;
  }

  TemplateHeap heap_;
  std::vector<Scope> scopes_;  ///< the outermost first
  std::string out_;
  unsigned depth_ = 0;
};

}  // namespace

std::string run_template(const TemplateNode& parsed, const ChatJson& variables, Budget& budget) {
  return Run(variables, budget).text(parsed);
}

}  // namespace headlight::text
