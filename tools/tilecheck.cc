// The `tilecheck` command: the built-in kernels behind the shared command line.
int main() { return 0; }
