"""What the library costs, beside its peers; see RESULTS.md."""
