/* A library that any program bears. */
int smelt_test_preloaded = 1;
