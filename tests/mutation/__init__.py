"""Mutation testing of `protocol`, `auth`, `journal` and `order_entry`: do the unit tests notice small changes?

The changes come from mutmut's operators (`mutants`). Its runner (3.8.1) was compared: it changes neither code
outside of functions, such as tables (a ninth of the mutants), nor functions with decorators, it draws no sample by
seed, and a test with hypothesis fails in it. Here the tests are run once under coverage.py, and every mutant is tried
in a fork that imports it, by the tests alone that run the changed lines, the quickest first (`session`).

A mutant counts as caught when a test fails, or does not end within three times its usual time. A change that breaks the
import of the package is not counted. The report lists the survivors, each with a reason.
"""
