"""Facts in sentences: functions from facts to text, without a layout."""
