"""What answers each operation: one class per namespace, one method per operation, named like the operation."""
