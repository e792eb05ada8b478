"""The tests of the adapters with the packages of their frameworks."""
