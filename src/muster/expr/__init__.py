"""The expression language: Spring's, on JSON values, with nothing that reaches beyond them."""

from muster.expr.convert import boolean as to_boolean
from muster.expr.convert import template_text as to_text
from muster.expr.errors import ExpressionError, ExpressionSyntaxError
from muster.expr.expression import Expression, compile_condition, compile_expression
from muster.expr.functions import FUNCTIONS
from muster.expr.functions.times import parse_duration
from muster.expr.jsonl import answer, answer_line
from muster.expr.limits import Scope
from muster.expr.mapping import OutputPath, compile_mapping
from muster.expr.methods import METHODS
from muster.expr.template import Template, compile_template, expressions_in

__all__ = [
    "FUNCTIONS",
    "METHODS",
    "Expression",
    "ExpressionError",
    "ExpressionSyntaxError",
    "OutputPath",
    "Scope",
    "Template",
    "answer",
    "answer_line",
    "compile_condition",
    "compile_expression",
    "compile_mapping",
    "compile_template",
    "expressions_in",
    "parse_duration",
    "to_boolean",
    "to_text",
]
