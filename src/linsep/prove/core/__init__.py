"""The one exact core: which of some inequalities can be strict, with a certificate."""
