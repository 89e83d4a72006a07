// SPDX-License-Identifier: GPL-2.0
/*
 * Stores after a fork whose child is gone, in user space: page faults and time.
 * What an emulator cannot show are TLB entries from reads between the two.
 *
 *	cd /sys/kernel/mm/transparent_hugepage
 *	echo always > hugepages-64kB/enabled; echo never > enabled
 *	./reuse 64
 *
 * The argument is the size of the folios in kB: so much is read, in every second
 * line, before it is stored to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN	(256UL << 20)
#define ALIGN	(2UL << 20)
#define ROUNDS	11

static unsigned long page_size;

static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* One byte a page, ascending. */
static void pass(char *p, unsigned long block, int read_first)
{
	double start, before, took, longest = 0;
	unsigned long i, j;
	long n = faults();

	start = now_us();
	for (i = 0; i < LEN; i += block) {
		before = now_us();
		for (j = 0; read_first && j < block; j += page_size)
			(void)__atomic_load_n(p + i + j, __ATOMIC_RELAXED);
		for (j = 0; j < block; j += page_size)
			__atomic_store_n(p + i + j, 1, __ATOMIC_RELAXED);
		took = now_us() - before;
		if (took > longest)
			longest = took;
	}
	took = now_us() - start;
	printf("%s %8ld faults %9.2f ms %8.3f us/page, longest block %.1f us\n",
	       read_first ? "read first" : "not read  ", faults() - n,
	       took / 1e3, took * page_size / LEN, longest);
}

int main(int argc, char **argv)
{
	unsigned long block = argc > 1 ? strtoul(argv[1], NULL, 0) << 10 : 65536;
	char *p = mmap(NULL, LEN + ALIGN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long i;
	int round;
	pid_t child;

	page_size = sysconf(_SC_PAGESIZE);
	if (p == MAP_FAILED || block < page_size || LEN % block) {
		fprintf(stderr, "usage: %s [folio size in kB]\n", argv[0]);
		return 1;
	}
	p = (char *)(((unsigned long)p + ALIGN - 1) & -ALIGN);
	for (i = 0; i < LEN; i += page_size)
		p[i] = 1;
	for (round = 0; round < 2 * ROUNDS; round++) {
		child = fork();
		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) < 0) {
			perror("fork");
			return 1;
		}
		pass(p, block, round % 2);
	}
	return 0;
}
