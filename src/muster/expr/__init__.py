"""The expression language: Spring's, on JSON values, with nothing that reaches beyond them."""

from muster.expr.convert import boolean as to_boolean
from muster.expr.convert import template_text as to_text
from muster.expr.errors import ExpressionError
from muster.expr.expression import Expression, compile_condition, compile_expression
from muster.expr.functions.times import parse_duration
from muster.expr.limits import Scope
from muster.expr.mapping import compile_mapping
from muster.expr.template import Template, compile_either, compile_template, evaluate

__all__ = [
    "Expression",
    "ExpressionError",
    "Scope",
    "Template",
    "compile_condition",
    "compile_either",
    "compile_expression",
    "compile_mapping",
    "compile_template",
    "evaluate",
    "parse_duration",
    "to_boolean",
    "to_text",
]
