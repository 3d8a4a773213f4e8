"""What can go wrong with an expression, said to the author of the workflow."""

_LONGEST = 280


class ExpressionError(Exception):
    """An expression that has no value here. `column` counts from 1 in the text that was compiled.

    `message` is a sentence for the author. It may quote the expression, shortened if need be, but no value.
    """

    def __init__(self, message: str, code: str = "EXPRESSION_FAILED", column: int | None = None) -> None:
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 3 :]}"
        super().__init__(message)
        self.message = message
        self.code = code
        self.column = column

    def placed(self, column: int) -> "ExpressionError":
        """This error at that column, unless it knows a closer one."""
        if self.column is None:
            self.column = column
        return self


class ExpressionSyntaxError(ExpressionError):
    """A text that is not an expression, or asks for what expressions may never do."""

    def __init__(self, message: str, column: int | None = None, code: str = "EXPRESSION_SYNTAX") -> None:
        super().__init__(message, code, column)


class LimitError(ExpressionError):
    """An expression that would take more than it may."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message, "EXPRESSION_LIMIT", column)
