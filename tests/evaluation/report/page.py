"""Reading a written page back."""

from html.parser import HTMLParser

from plurilabel.evaluation import write_report

VOID = {"meta", "br", "wbr", "link", "img", "input"}


class Page(HTMLParser):
    """Reads a page and fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.tables, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        if tag == "tr":
            self.tables[-1]["rows"].append([])
        if tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "caption" in self.open:
            self.tables[-1]["caption"] += data
        elif {"td", "th"} & set(self.open):
            self.tables[-1]["rows"][-1][-1] += data

    def of(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def html_of(results, tmp_path):
    return write_report(results, tmp_path, formats=["html"])["html"].read_text(encoding="utf-8")


def best_of(table):
    return {row[0]: row[1:] for row in table["rows"][1:]}
