"""Models that are exported for use without Heedful and torch: the names of their files, without slow imports."""

ONNX_FILE, CONFIG_FILE, TOKENIZER_FILE = FILES_OF_AN_EXPORT = ("model.onnx", "config.json", "tokenizer.json")
