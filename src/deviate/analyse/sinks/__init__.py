"""Calls and assignments of libraries that report something, and what they show."""

from deviate.analyse.sinks.parts import with_tag as with_tag
from deviate.analyse.sinks.report import Report as Report
from deviate.analyse.sinks.report import report_of_call as report_of_call
from deviate.analyse.sinks.report import report_of_store as report_of_store
