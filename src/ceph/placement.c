/* Which OST holds a stripe: Lustre's allocation in place of Ceph's hash.
 *
 * Loaded with LD_PRELOAD into CephFS's metadata server and mounts. CephFS calls the stripes of a file <inode>.<number>,
 * both in hexadecimal, and hashes the name to a placement group, so that eight stripes fall on five OSDs or so. Lustre
 * takes the OSTs in turn: the stripes of a file lie on different ones, and the next file begins on another. Here the
 * name gives group (inode + inode / n + number) mod n, of n = $WHITEWIRE_OSTS groups, each of which lies on one OSD.
 * The division moves each round of n files one further: folders take numbers too, and if each file came with one, files
 * would else find only every second OST. All other names are hashed as Ceph does. The OSDs take the group from the request.
 *
 * What is replaced is OSDMap::object_locator_to_pg of libceph-common, the one place where names become groups.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_INODE 0x10000000000ULL /* of files; Ceph's own have smaller numbers */
#define NAME _ZNK6OSDMap20object_locator_to_pgERK8object_tRK16object_locator_tR4pg_t
#define QUOTED(name) #name
#define TEXT(name) QUOTED(name)

/* The heads of C++ classes: object_t is a std::string. */
struct object {
    const char *name;
    size_t length;
};
struct group {
    uint64_t pool;
    uint32_t seed;
};

/* Whether the bytes from `at` to `end` are all hexadecimal digits, and their value. */
static int hexadecimal(const char *at, const char *end, unsigned long long *value)
{
    *value = 0;
    if (at == end || end - at > 16)
        return 0;
    for (; at < end; at++) {
        if (!isxdigit((unsigned char)*at))
            return 0;
        *value = *value * 16 + (unsigned long long)(isdigit((unsigned char)*at) ? *at - '0' : (*at | 32) - 'a' + 10);
    }
    return 1;
}

/* The group of a stripe among `groups`, or -1 for a name that isn't a stripe's. */
long whitewire_group(const char *name, size_t length, unsigned long long groups)
{
    const char *dot = memchr(name, '.', length), *end = name + length;
    unsigned long long inode, number;

    if (groups && dot && end - dot == 9 && hexadecimal(name, dot, &inode) && inode >= FIRST_INODE &&
        hexadecimal(dot + 1, end, &number))
        return (long)((inode + inode / groups + number) % groups);
    return -1;
}

int NAME(const void *map, const struct object *object, const void *locator, struct group *group)
{
    static int (*ceph)(const void *, const struct object *, const void *, struct group *);
    const char *groups = getenv("WHITEWIRE_OSTS");
    int status;
    long found;

    if (!ceph)
        *(void **)&ceph = dlsym(RTLD_NEXT, TEXT(NAME));
    status = ceph(map, object, locator, group);
    found = whitewire_group(object->name, object->length, groups ? strtoull(groups, NULL, 10) : 0);
    if (status == 0 && found >= 0)
        group->seed = (uint32_t)found;
    return status;
}
