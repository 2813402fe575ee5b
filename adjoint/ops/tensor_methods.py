"""The methods of Tensor that are operators: set on the class when this package is imported."""
