// A library whose loading takes as long as the host wants.
void host_while_loading(void);
__attribute__((constructor)) static void wait_for_host(void) { host_while_loading(); }
