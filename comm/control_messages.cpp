// The fields of each message, in the order of docs/protocol.md; see comm/control_messages.h.
#include "comm/control_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace annulus::control {
namespace {

constexpr std::size_t longest_name = 512;
constexpr std::size_t longest_reason = 16 << 10;  // fits answer_limit

FieldReader fields_of(const Frame& frame, FrameType expected) {
  if (frame.type != expected)
    throw BadFrame(BadFrame::Kind::malformed,
                   fmt::format("frame type {} where {} belongs", static_cast<int>(frame.type),
                               static_cast<int>(expected)));
  return FieldReader(frame.payload);
}

void write(FieldWriter& fields, const RemotePhase& phase) {
  fields.text(phase.name).number(phase.step).number(static_cast<std::uint64_t>(phase.bucket));
}

RemotePhase read_phase(FieldReader& fields) {
  RemotePhase phase;
  phase.name = fields.text();
  phase.step = fields.number();
  phase.bucket = static_cast<std::int64_t>(fields.number());
  return phase;
}

// A name that people read: of bounded length, without control characters.
std::string read_name(FieldReader& fields) {
  std::string name = fields.text();
  if (name.size() > longest_name ||
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    throw BadFrame(BadFrame::Kind::malformed, "a name is too long or holds control characters");
  return name;
}

// A frame of one text and nothing else.
std::string read_only_text(const Frame& frame, FrameType expected) {
  FieldReader fields = fields_of(frame, expected);
  std::string text = fields.text();
  fields.end();
  return text;
}

Fact::Rule read_rule(FieldReader& fields) {
  const std::uint64_t rule = fields.number();
  if (rule > static_cast<std::uint64_t>(Fact::Rule::tell))
    throw BadFrame(BadFrame::Kind::malformed, "a fact's rule is unknown");
  return static_cast<Fact::Rule>(rule);
}

std::uint64_t number(ExitCode code) { return static_cast<std::uint64_t>(code); }
ExitCode read_code(FieldReader& fields) {
  const std::uint64_t code = fields.number();
  if (code > 255) throw BadFrame(BadFrame::Kind::malformed, "an exit code is out of range");
  return static_cast<ExitCode>(code);
}
// Of a failure: nobody ends as done because a peer says so.
ExitCode read_failure(FieldReader& fields) {
  const ExitCode code = read_code(fields);
  return code == ExitCode::done ? ExitCode::internal : code;
}

}  // namespace

std::string describe(const RemotePhase& phase) {
  std::string text = phase.name;
  if (phase.step > 0) text += fmt::format(" {}", phase.step);
  if (phase.bucket >= 0) text += fmt::format(", bucket {}", phase.bucket);
  return text;
}

Frame Hello::frame() const {
  FieldWriter fields;
  fields.text(job).text(generation).number(rank).number(world).number(node).number(local_ranks);
  fields.number(nonce).text(host).number(has_secret ? 1 : 0).number(facts.size());
  for (const Fact& fact : facts)
    fields.text(fact.name).text(fact.value).number(static_cast<std::uint64_t>(fact.rule));
  return {FrameType::hello, fields.take()};
}

Hello Hello::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::hello);
  Hello hello;
  hello.job = read_name(fields);
  hello.generation = read_name(fields);
  hello.rank = fields.number();
  hello.world = fields.number();
  hello.node = fields.number();
  hello.local_ranks = fields.number();
  hello.nonce = fields.number();
  hello.host = read_name(fields);
  hello.has_secret = fields.number() != 0;
  for (std::uint64_t left = fields.number(); left > 0; --left) {
    Fact& fact = hello.facts.emplace_back();
    fact.name = fields.text();
    fact.value = fields.text();
    fact.rule = read_rule(fields);
  }
  fields.end();
  return hello;
}

Frame Welcome::frame() const {
  return {FrameType::welcome, FieldWriter().text(host).text(generation).text(proof).take()};
}

Welcome Welcome::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::welcome);
  Welcome welcome;
  welcome.host = read_name(fields);
  welcome.generation = read_name(fields);
  welcome.proof = fields.text();
  fields.end();
  return welcome;
}

Frame Refusal::frame() const {
  const std::string_view words = std::string_view(reason).substr(0, longest_reason);
  return {FrameType::refusal, FieldWriter().number(number(code)).text(words).take()};
}

Refusal Refusal::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::refusal);
  Refusal refusal;
  refusal.code = read_failure(fields);
  refusal.reason = fields.text();
  return refusal;  // a later protocol version may append fields
}

Frame Challenge::frame() const { return {FrameType::challenge, FieldWriter().text(bytes).take()}; }

Challenge Challenge::from(const Frame& frame) {
  return {read_only_text(frame, FrameType::challenge)};
}

Frame Proof::frame() const { return {FrameType::proof, FieldWriter().text(bytes).take()}; }

Proof Proof::from(const Frame& frame) { return {read_only_text(frame, FrameType::proof)}; }

Frame Waiting::frame() const { return {FrameType::waiting, FieldWriter().text(words).take()}; }

Waiting Waiting::from(const Frame& frame) { return {read_only_text(frame, FrameType::waiting)}; }

Frame Heartbeat::frame() const {
  FieldWriter fields;
  write(fields, phase);
  return {FrameType::heartbeat, fields.take()};
}

Heartbeat Heartbeat::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::heartbeat);
  Heartbeat heartbeat{read_phase(fields)};
  fields.end();
  return heartbeat;
}

Frame Contribution::frame() const {
  FieldWriter fields;
  fields.number(static_cast<std::uint64_t>(answer)).text(call).text(text);
  return {FrameType::contribution, fields.take()};
}

Contribution Contribution::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::contribution);
  Contribution contribution;
  contribution.answer = static_cast<Answer>(fields.number());
  contribution.call = fields.text();
  contribution.text = fields.text();
  fields.end();
  return contribution;
}

Frame Result::frame() const { return {FrameType::result, FieldWriter().texts(texts).take()}; }

Result Result::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::result);
  Result result{fields.texts()};
  fields.end();
  return result;
}

Frame Leave::frame() const {
  FieldWriter fields;
  fields.number(number(code)).text(reason);
  write(fields, phase);
  return {FrameType::leave, fields.take()};
}

Leave Leave::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::leave);
  Leave leave;
  leave.code = read_code(fields);
  leave.reason = fields.text();
  leave.phase = read_phase(fields);
  fields.end();
  return leave;
}

Frame loss_frame(const Loss& loss) {
  FieldWriter fields;
  fields.number(static_cast<std::uint64_t>(loss.rank)).number(number(loss.code)).text(loss.message);
  return {FrameType::loss, fields.take()};
}

Loss loss_from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::loss);
  Loss loss{};
  loss.rank = static_cast<int>(fields.number());
  loss.code = read_failure(fields);
  loss.message = fields.text();
  fields.end();
  return loss;
}

}  // namespace annulus::control
