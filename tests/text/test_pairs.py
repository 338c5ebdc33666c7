import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import Pair, Pairs, PairsFileError, read_pairs, references

FIELD = st.text(
    st.characters(exclude_characters="\t\r\n\0\ufeff", exclude_categories=["Cs"]), min_size=1
).filter(lambda text: text.strip())


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "lexicon.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def test_pairs_are_read_in_order_with_several_targets_for_a_source(write):
    pairs = read_pairs(write("read\tR IY D\nété\tɛ t e\nread\tR EH D\nread\tR IY D\n"))
    assert pairs.pairs == [
        Pair("read", "R IY D"),
        Pair("été", "ɛ t e"),
        Pair("read", "R EH D"),
        Pair("read", "R IY D"),
    ]
    assert list(pairs) == pairs.pairs
    assert len(pairs) == 4
    assert pairs.num_skipped == 0
    assert references(pairs) == {"read": ["R IY D", "R EH D"], "été": ["ɛ t e"]}


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa\tAH\nb\tB\n",
        b"a\tAH\r\nb\tB\r\n",
        b"a\tAH\nb\tB",
        b"\n  \na\tAH\n\n\xc2\xa0\nb\tB\n\n",
    ],
    ids=["byte order mark", "Windows line ends", "no newline at the end", "blank lines"],
)
def test_harmless_differences_between_files_change_nothing(write, content):
    assert read_pairs(write(content)) == Pairs([Pair("a", "AH"), Pair("b", "B")])


def test_text_is_taken_as_it_stands(write):
    assert read_pairs(write(" a\u2028\t B \n")).pairs == [Pair(" a\u2028", " B ")]


@given(st.lists(st.tuples(FIELD, FIELD), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in rows).encode("utf-8"))
    assert [tuple(pair) for pair in read_pairs(path)] == rows


BAD_LINES = [
    (b"abc", "'abc'. A line is `source TAB target`, and this one has no tab. Put one tab"),
    (b"a\tb\tc", "this one has 2 tabs. Keep two columns"),
    (b"\tb", "the source is empty. Fill in the source"),
    (b" \tb", "the source is empty"),
    (b"a\t", "the target is empty. Fill in the target"),
    (b"\t", "the source is empty"),
    (b"a\t\xff", "Byte 3 of the line is not valid UTF-8. Save the file as UTF-8."),
]


@pytest.mark.parametrize(("line", "problem"), BAD_LINES)
def test_a_bad_line_is_an_error_that_names_file_line_and_fix(write, line, problem):
    path = write(b"one\tW AH N\n\n" + line + b"\r\ntwo\tT UW\n")
    with pytest.raises(PairsFileError) as error:
        read_pairs(path)
    text = str(error.value)
    assert text.startswith(f"{path}, line 3: ")
    assert problem in text
    assert text.endswith("Or leave bad lines out: skip_bad_lines=True.")
    assert error.value.__suppress_context__


def test_bad_lines_can_be_left_out_and_are_counted(write):
    content = b"one\tW AH N\n" + b"\n".join(line for line, _ in BAD_LINES) + b"\ntwo\tT UW\n"
    pairs = read_pairs(write(content), skip_bad_lines=True)
    assert pairs == Pairs([Pair("one", "W AH N"), Pair("two", "T UW")], num_skipped=7)


def test_a_long_bad_line_is_quoted_in_part(write):
    with pytest.raises(PairsFileError) as error:
        read_pairs(write("x" * 5000))
    assert "x" * 57 + "..." in str(error.value)
    assert len(str(error.value)) < 500


def test_a_file_without_pairs_is_an_error(write):
    with pytest.raises(PairsFileError, match=r"no pair in this file\. .* at least one line"):
        read_pairs(write(b"\n\n"))
    with pytest.raises(PairsFileError, match="no pair in this file, only 2 bad lines"):
        read_pairs(write(b"a\nb\n"), skip_bad_lines=True)


def test_what_is_not_a_text_file_is_an_error(write, tmp_path):
    with pytest.raises(PairsFileError, match="not a text file in UTF-8, for it holds NUL bytes"):
        read_pairs(write("a\tb\n".encode("utf-16")), skip_bad_lines=True)
    with pytest.raises(PairsFileError, match=r"Is a directory\. .* Check the path"):
        read_pairs(tmp_path)
    with pytest.raises(PairsFileError, match=r"missing\.tsv: No such file or directory"):
        read_pairs(tmp_path / "missing.tsv")
