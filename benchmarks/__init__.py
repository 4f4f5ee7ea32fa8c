"""What the library costs, beside its peers. See RESULTS.md."""
