"""The ops.  Importing this package registers every one of them."""
