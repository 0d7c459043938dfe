// See saver.h.
#include "engine/saver.h"

namespace annulus {

void Saver::write_to(const std::filesystem::path& folder, int keep) {
  writer_.emplace(model_, folder, keep, optimizer_.moments().size());
}

void Saver::restore(const CheckpointFile& file) {
  const std::vector<Buffer<float>*> moments = optimizer_.moments();
  const Snapshot snapshot = snapshot_of(file, model_, moments.size());
  weights_.parameters.upload(snapshot.parameters);
  weights_.running.upload(snapshot.running);
  for (std::size_t i = 0; i < moments.size(); ++i) moments[i]->upload(snapshot.moments[i]);
}

void Saver::save(const RunState& state) {
  if (!writer_ || saved_ == state) return;
  Snapshot snapshot{.state = state,
                    .parameters = weights_.parameters.download(),
                    .running = weights_.running.download(),
                    .moments = {}};
  for (const Buffer<float>* moment : optimizer_.moments())
    snapshot.moments.push_back(moment->download());
  writer_->save(std::move(snapshot));
  saved_ = state;
}

void Saver::finish() {
  if (writer_) writer_->wait();
}

std::string Saver::last() {
  finish();
  return writer_ ? writer_->last().string() : "";
}

}  // namespace annulus
