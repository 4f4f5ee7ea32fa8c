"""Bodies to models and back: `codec` decodes and encodes, the other modules serve it.

msgspec fills the generated wire structs in C, and generated code makes models of them. Where such a struct rejects a
body, the rows are parsed as untyped JSON, and the keys at fault are *loosened* (`adaptive`): a variant of the struct
takes any value under them, and decodes these rows and later bodies in C again. Such values are read one by one
(`lenient`, `fields`): those that are plainly the same in another JSON type are converted, all others go to the model's
``extra`` under their wire key, as those of unknown keys do. A value that does not fit is reported (`issues`), logged
once or raised in strict mode, and never costs the row around it.
"""
