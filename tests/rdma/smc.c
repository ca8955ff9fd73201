/* Opens sockets of the family AF_SMC in place of TCP's, as libsmc-preload.so of smc-tools does, which Debian 12 lacks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol)
{
    int (*real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int stream = (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM;

    if (domain == AF_INET && stream && (!protocol || protocol == IPPROTO_TCP))
        return real(AF_SMC, type, 0);
    return real(domain, type, protocol);
}
