"""A package of tests, so that what its modules share ends with the last of them (scope="package")."""
