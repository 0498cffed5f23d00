"""Log lines that stay one line each, of bounded length, whatever a peer put into their values.

A name or an error text from outside may contain line breaks and terminal codes, and would then look
like lines of our own. They are escaped; of an exception each line has the usual prefix.
"""

import logging

from oslo_context import context as oslo_context
from oslo_log.formatters import FluentFormatter, JSONFormatter

from armillary.logs.info_lines import InfoLines

_STRUCTURED = (FluentFormatter, JSONFormatter)
"""Formatters that escape by themselves."""
LINE_CHARACTERS_MAX = 16_384
TRACEBACK_CHARACTERS_MAX = 65_536


class OneLineFormatter(logging.Formatter):
    """Formats as another formatter, then escapes and cuts the result."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self._formatter = formatter
        self._info_lines = InfoLines.of(formatter)

    def format(self, record: logging.LogRecord) -> str:
        if self._info_lines is not None and record.levelno == logging.INFO:
            line = self._info_lines.format(record)
            if line is not None:
                return _cut(printable(line), LINE_CHARACTERS_MAX)
        shown = object.__new__(type(record))  # a copy, without the cost of copy.copy
        vars(shown).update(vars(record))
        _set_context(shown)
        text = _without_repetition(self._formatter.format(shown), shown)
        traceback = shown.exc_text or ""
        if not traceback or not text.endswith(traceback):
            return _cut(printable(text), LINE_CHARACTERS_MAX)
        line = _cut(printable(text.removesuffix(traceback).rstrip("\n")), LINE_CHARACTERS_MAX)
        lines = "\n".join(map(printable, traceback.split("\n")))
        return f"{line}\n{_cut(lines, TRACEBACK_CHARACTERS_MAX)}"


def _without_repetition(text: str, record: logging.LogRecord) -> str:
    """Return a line without the error that oslo.log adds, if the message has it already."""
    summary: str = vars(record).get("error_summary", "")
    said = summary.partition(": ")[2]
    if said and said in record.getMessage():
        return text.removesuffix(f": {summary}")
    return text


def _set_context(record: logging.LogRecord) -> None:
    """Set what the formatter shows of the record's context, or of the one of this thread."""
    context = vars(record).get("context", oslo_context.get_current())
    if not isinstance(context, oslo_context.RequestContext):
        return
    values = {
        name: printable(value) if isinstance(value, str) else value
        for name, value in context.get_logging_values().items()
    }
    vars(record)["context"] = values
    vars(record).setdefault("instance_uuid", values.get("instance_uuid"))


def protect(logger: logging.Logger) -> None:
    """Let the text handlers of a logger write such lines. Idempotent."""
    for handler in logger.handlers:
        formatter = handler.formatter
        if formatter is not None and not isinstance(formatter, (OneLineFormatter, *_STRUCTURED)):
            handler.setFormatter(OneLineFormatter(formatter))


def printable(text: str) -> str:
    """Return a text with line breaks and other control characters escaped."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _cut(text: str, characters_max: int) -> str:
    """Return a text without the middle of what is too long: causes are at both ends."""
    if len(text) <= characters_max:
        return text
    half = characters_max // 2
    return f"{text[:half]} ... ({len(text) - 2 * half} characters left out) ... {text[-half:]}"
