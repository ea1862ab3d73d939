"""The lint must find each fault it is there for: one bad example each, and a good one beside it."""

import unittest

import lint

ALLOWED = {"sim/types": [], "sim/ops": ["sim/types"], "harness": ["sim/types"]}
# Written in pieces, so that lint finds no fault in this file.
HOME = "/ho" + "me/me/x"
HOST = "pypi" + ".org"

GOOD = [
    ("sim/ops/a.cc", '// What a is.\n#include <vector>\n\n#include "sim/ops/a.h"\n#include "sim/types/b.h"\n'),
    ("sim/ops/a.h", "// What a is.\n#pragma once\n"),
    ("tools/x.cc", '// Any.\n#include "harness/cli.h"\n'),
    ("tools/x", "#!/usr/bin/env bash\n# $HOME/tmp/x ./opt/y https://example.com/home/page\n"),
    ("a.py", '"""What it is."""\n'),
    ("tests/fixtures/a.mlirbc", b"\xff\xfe"),
]
BAD = [
    ("sim/types/a.cc", '// A.\n#include "sim/ops/a.h"\n', "may not include sim/ops"),
    ("harness/a.cc", '// A.\n#include "sim/ops/a.h"\n', "may not include sim/ops"),
    ("sim/ops/a.cc", '// A.\n#include "a.h"\n', "not a path from the root"),
    ("sim/other/a.cc", "// A.\n", "not in CMakeLists.txt"),
    ("sim/ops/a.cc", "#include <vector>\n", "does not begin with a comment"),
    ("sim/ops/a.h", "// A.\n", "no #pragma once"),
    ("sim/ops/a.cc", "// A.\n\tint a;\n", "tab"),
    ("a.py", "import os\n", "docstring"),
    ("README.md", f"see {HOME}\n", "absolute path"),
    ("README.md", f"from https://{HOST}/simple\n", "registry"),
    ("build/a.o", b"", "generated"),
    ("x/__pycache__/a.pyc", b"", "generated"),
    ("tools/picture.png", b"\x89PNG\xff", "not text"),
    ("tests/fixtures/big.mlir", b"a" * (lint.MAX_FILE_BYTES + 1), "bytes; at most"),
]


class Lint(unittest.TestCase):
    def faults(self, path, text):
        return list(lint.check_file(path, text if isinstance(text, bytes) else text.encode(), ALLOWED))

    def test_good_files_have_no_fault(self):
        for path, text in GOOD:
            self.assertEqual(self.faults(path, text), [], path)

    def test_each_fault_is_found(self):
        for path, text, message in BAD:
            found = self.faults(path, text)
            self.assertTrue(any(message in f for f in found), f"{path} {text!r}: {found}")

    def test_layers_are_read_from_cmake(self):
        text = "tilecheck_folder(a)\ntilecheck_folder(b DEPS a PRIVATE x::y)\ntilecheck_folder(c DEPS a b\n   PRIVATE z)\n"
        self.assertEqual(lint.layers(text), {"a": [], "b": ["a"], "c": ["a", "b"]})
        self.assertEqual(list(lint.check_layers(lint.layers(text))), [])
        self.assertEqual(len(list(lint.check_layers({"a": ["b"], "b": []}))), 1)


if __name__ == "__main__":
    unittest.main()
