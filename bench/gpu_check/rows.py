"""What a check found: rows of a table for people and of a JSON file for programs, from one list.

A row's result: passed, failed, measured, or refused (it could not be tried, and the note says why).
Used by checks.py and gpu_check.
"""
import json
import sys

RESULTS = ("passed", "measured", "refused", "failed")


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, check, what, result, figure="", note="", **facts):
        """A row, shown at once. `facts` go to the JSON file alone."""
        assert result in RESULTS, result
        row = {"check": check, "what": what, "result": result, "figure": figure, "note": note}
        self.rows.append({**row, **facts})
        print(self.line(row), file=sys.stderr, flush=True)

    def failed(self):
        return [row for row in self.rows if row["result"] == "failed"]

    @staticmethod
    def line(row):
        text = f"{row['check']:<10} {row['what']:<58} {row['result']:<9} {row['figure']:<24} {row['note']}"
        return text.rstrip()

    def table(self):
        """As Markdown, for docs and for what people send back."""
        lines = ["| check | what | result | figure | note |", "|---|---|---|---|---|"]
        for row in self.rows:
            cells = [row[key].replace("|", "/") for key in ("check", "what", "result", "figure", "note")]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def write(self, path, **facts):
        with open(path, "w", encoding="utf-8") as out:
            json.dump({**facts, "rows": self.rows}, out, indent=1)
            out.write("\n")
