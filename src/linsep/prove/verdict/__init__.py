"""The search for a verdict: floats look for a plane or a contradiction, integers make it exact."""
