// The fields of each message, in the order of docs/protocol.md; see comm/control_messages.h.
#include "comm/control_messages.h"

#include <fmt/format.h>

namespace annulus::control {
namespace {

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

std::uint64_t number(ExitCode code) { return static_cast<std::uint64_t>(code); }
ExitCode read_code(FieldReader& fields) { return static_cast<ExitCode>(fields.number()); }

}  // namespace

std::string describe(const RemotePhase& phase) {
  std::string text = phase.name;
  if (phase.step > 0) text += fmt::format(" {}", phase.step);
  if (phase.bucket >= 0) text += fmt::format(", bucket {}", phase.bucket);
  return text;
}

Frame Hello::frame() const {
  FieldWriter fields;
  fields.text(job).number(rank).number(world).number(nonce).text(host).number(facts.size());
  for (const Fact& fact : facts)
    fields.text(fact.name).text(fact.value).number(static_cast<std::uint64_t>(fact.rule));
  return {FrameType::hello, fields.take()};
}

Hello Hello::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::hello);
  Hello hello;
  hello.job = fields.text();
  hello.rank = fields.number();
  hello.world = fields.number();
  hello.nonce = fields.number();
  hello.host = fields.text();
  for (std::uint64_t left = fields.number(); left > 0; --left) {
    Fact& fact = hello.facts.emplace_back();
    fact.name = fields.text();
    fact.value = fields.text();
    fact.rule = static_cast<Fact::Rule>(fields.number());
  }
  fields.end();
  return hello;
}

Frame Welcome::frame() const { return {FrameType::welcome, FieldWriter().text(host).take()}; }

Welcome Welcome::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::welcome);
  Welcome welcome{fields.text()};
  fields.end();
  return welcome;
}

Frame Refusal::frame() const {
  return {FrameType::refusal, FieldWriter().number(number(code)).text(reason).take()};
}

Refusal Refusal::from(const Frame& frame) {
  FieldReader fields = fields_of(frame, FrameType::refusal);
  Refusal refusal;
  refusal.code = read_code(fields);
  refusal.reason = fields.text();
  return refusal;  // a later protocol version may append fields
}

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
  loss.code = read_code(fields);
  loss.message = fields.text();
  fields.end();
  return loss;
}

}  // namespace annulus::control
