// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts what the benchmarks do between their marks (see
 * lib/mark.h), exactly and the same each time: what a count of instructions or
 * an emulator's clock cannot show.
 *
 *	gcc -shared -fPIC -O2 -o count.so count.c
 *	qemu-system-... -icount shift=0,sleep=off -plugin count.so,out=FILE
 *
 * A line for each pass of each row:
 *
 *	count n=N pass=P calls=C insns=I loads=L stores=S atomics=A barriers=B
 *	      flushes=T lines=D page_lines=V table_lines=W holds=H hold=M
 *
 * n is the row's number in the kernel's own output. Instructions, loads and
 * stores are without those of as many empty calls. Atomics are instructions
 * that read, change and write memory in one, or write exclusively; barriers
 * include fences of all kinds but no acquire or release; flushes are TLB
 * maintenance instructions. Lines are distinct ones of 64 bytes, by virtual
 * address: all of them, those of struct page, those of page tables. Holds is how
 * often a page table's lock was taken, hold the most instructions that one was
 * held for.
 *
 * With hot=N, lines "hot ADDRESS COUNT" at the end say how often each instruction
 * ran in all passes of row N, those of empty calls included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define LINE_SHIFT	6
#define PAGE_SHIFT	12

/* lib/mark.h */
enum mark { BEGIN, END, ROW, TABLE, LOCK, STRUCT_PAGE, PASS, REPORT, NR_MARKS };
#define ARM64_HINT(nr)	(0xd503201fu | (112 + (nr)) << 5)
#define X86_NOP		"\x0f\x1f\x80"
#define X86_MAGIC	0x50544200u

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_VERSION;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
				      const qemu_info_t *info, int argc,
				      char **argv);

/* A set of numbers other than 0, emptied by raising its age. */
struct set {
	uint64_t *key;
	uint32_t *stamp;
	uint32_t age;
	size_t size;		/* a power of two */
	size_t nr;
};

/* What instructions add to, always; differences are what counts. */
struct counts {
	uint64_t insns;
	uint64_t atomics;
	uint64_t barriers;
	uint64_t flushes;
};

static struct counts run, begun;

/* A call. */
struct call {
	uint64_t insns;
	uint64_t loads;
	uint64_t stores;
};

/* The pass that is being counted. */
static struct {
	struct counts sum;
	uint64_t calls;
	uint64_t loads;
	uint64_t stores;
	uint64_t holds;
	uint64_t hold;
	struct call begun;
	struct call least;
} pass;

static struct call empty;

static struct set lines, tables, locks;
static uint64_t held_lock, held_since;
static uint64_t first_struct_page, last_struct_page;
static unsigned int row, pass_nr;
static bool arm64, active;
static int awaited = -1;	/* the mark whose load comes next */
static FILE *out;

/* An instruction, as often as QEMU translated it. */
static struct hot {
	struct hot *next;
	uint64_t addr;
	uint64_t count;
} *hot_insns;
static unsigned int hot_row;	/* 0: none is asked for */

static void set_clear(struct set *s)
{
	s->nr = 0;
	if (s->size && ++s->age)
		return;
	if (!s->size)
		s->size = 1 << 12;
	free(s->key);
	free(s->stamp);
	s->key = calloc(s->size, sizeof(*s->key));
	s->stamp = calloc(s->size, sizeof(*s->stamp));
	s->age = 1;
	if (!s->key || !s->stamp)
		abort();
}

/* Where @key is, or would be. */
static size_t set_find(const struct set *s, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15u) >> 32;

	for (;; i++) {
		i &= s->size - 1;
		if (s->stamp[i] != s->age || s->key[i] == key)
			return i;
	}
}

static bool set_has(const struct set *s, uint64_t key)
{
	return s->stamp[set_find(s, key)] == s->age;
}

static void set_add(struct set *s, uint64_t key);

static void set_grow(struct set *s)
{
	struct set old = *s;
	size_t i;

	s->size *= 2;
	s->key = NULL;
	s->stamp = NULL;
	s->age = UINT32_MAX;
	set_clear(s);
	for (i = 0; i < old.size; i++)
		if (old.stamp[i] == old.age)
			set_add(s, old.key[i]);
	free(old.key);
	free(old.stamp);
}

static void set_add(struct set *s, uint64_t key)
{
	size_t i = set_find(s, key);

	if (s->stamp[i] == s->age)
		return;
	s->stamp[i] = s->age;
	s->key[i] = key;
	if (++s->nr > s->size / 2)
		set_grow(s);
}

static void pass_begin(void)
{
	memset(&pass, 0, sizeof(pass));
	set_clear(&lines);
	set_clear(&tables);
	set_clear(&locks);
	held_lock = 0;
}

static void pass_report(void)
{
	uint64_t of_pages = 0, of_tables = 0;
	size_t i;

	for (i = 0; i < lines.size; i++) {
		uint64_t addr = lines.key[i] << LINE_SHIFT;

		if (lines.stamp[i] != lines.age)
			continue;
		if (addr >= first_struct_page && addr <= last_struct_page)
			of_pages++;
		else if (set_has(&tables, addr >> PAGE_SHIFT))
			of_tables++;
	}
	fprintf(out, "count n=%u pass=%u calls=%lu insns=%lu loads=%lu stores=%lu atomics=%lu barriers=%lu flushes=%lu lines=%zu page_lines=%lu table_lines=%lu holds=%lu hold=%lu\n",
		row, pass_nr++, pass.calls,
		pass.sum.insns - pass.calls * empty.insns,
		pass.loads - pass.calls * empty.loads,
		pass.stores - pass.calls * empty.stores,
		pass.sum.atomics, pass.sum.barriers,
		pass.sum.flushes, lines.nr, of_pages, of_tables, pass.holds,
		pass.hold);
}

static void count_begin(void)
{
	begun = run;
	pass.begun = (struct call){ run.insns, pass.loads, pass.stores };
	active = true;
}

/* The mark at the end has been counted itself. */
static void count_end(void)
{
	struct call call = { run.insns - pass.begun.insns - 1,
			     pass.loads - pass.begun.loads,
			     pass.stores - pass.begun.stores };

	if (!active)
		return;
	active = false;
	if (!pass.calls || call.insns < pass.least.insns)
		pass.least = call;
	pass.calls++;
	pass.sum.insns += call.insns;
	pass.sum.atomics += run.atomics - begun.atomics;
	pass.sum.barriers += run.barriers - begun.barriers;
	pass.sum.flushes += run.flushes - begun.flushes;
}

static void on_mark(unsigned int vcpu, void *arg)
{
	enum mark mark = (enum mark)(uintptr_t)arg;

	switch (mark) {
	case BEGIN:
		count_begin();
		break;
	case END:
		count_end();
		break;
	case PASS:
		pass_begin();
		break;
	case REPORT:
		pass_report();
		break;
	default:
		awaited = mark;
	}
}

static void on_awaited(uint64_t addr)
{
	switch (awaited) {
	case ROW:
		/* without an interrupt */
		empty = pass.least;
		row = addr & ((1 << PAGE_SHIFT) - 1);
		pass_nr = 0;
		first_struct_page = UINT64_MAX;
		last_struct_page = 0;
		break;
	case TABLE:
		set_add(&tables, addr >> PAGE_SHIFT);
		break;
	case LOCK:
		set_add(&locks, addr);
		break;
	case STRUCT_PAGE:
		if (addr < first_struct_page)
			first_struct_page = addr;
		if (addr > last_struct_page)
			last_struct_page = addr;
		break;
	}
	awaited = -1;
}

/* A lock is taken by an atomic instruction and released by a plain store. */
static void on_lock(uint64_t addr, bool atomic)
{
	if (atomic) {
		pass.holds++;
		held_lock = addr;
		held_since = run.insns;
	} else if (held_lock == addr) {
		if (run.insns - held_since > pass.hold)
			pass.hold = run.insns - held_since;
		held_lock = 0;
	}
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info,
		      uint64_t addr, void *atomic)
{
	uint64_t last = addr + (1 << qemu_plugin_mem_size_shift(info)) - 1;

	if (awaited >= 0)
		on_awaited(addr);
	if (!active)
		return;
	set_add(&lines, addr >> LINE_SHIFT);
	if (last >> LINE_SHIFT != addr >> LINE_SHIFT)
		set_add(&lines, last >> LINE_SHIFT);
	if (!qemu_plugin_mem_is_store(info)) {
		pass.loads++;
		return;
	}
	pass.stores++;
	if (set_has(&locks, addr))
		on_lock(addr, atomic);
}

enum kind { PLAIN, ATOMIC, BARRIER, FLUSH, MARK };

static enum kind arm64_kind(uint32_t insn, unsigned int *mark)
{
	unsigned int i;

	for (i = 0; i < NR_MARKS; i++) {
		*mark = i;
		if (insn == ARM64_HINT(i))
			return MARK;
	}
	/* LDADD ... SWP, but LDAPR, which is no more than a load */
	if ((insn & 0x3b200c00) == 0x38200000 && (insn & 0x3ffffc00) != 0x38bfc000)
		return ATOMIC;
	/* CAS, CASP, STXR, STXP */
	if ((insn & 0x3fa07c00) == 0x08a07c00 ||
	    (insn & 0xbfa07c00) == 0x08207c00 ||
	    (insn & 0x3fc00000) == 0x08000000)
		return ATOMIC;
	/* DSB, DMB, ISB, SB */
	if ((insn & 0xfffff01f) == 0xd503301f && (insn >> 5 & 7) >= 4)
		return BARRIER;
	/* TLBI */
	if ((insn & 0xfff8f000) == 0xd5088000)
		return FLUSH;
	return PLAIN;
}

static enum kind x86_kind(const uint8_t *insn, size_t size, unsigned int *mark)
{
	bool lock = false;
	uint32_t disp;
	uint8_t modrm;

	if (size == 7 && !memcmp(insn, X86_NOP, 3)) {
		memcpy(&disp, insn + 3, sizeof(disp));
		*mark = disp - X86_MAGIC;
		return *mark < NR_MARKS ? MARK : PLAIN;
	}
	for (; size > 1; insn++, size--) {
		if (*insn == 0xf0)
			lock = true;
		else if (!strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3", *insn) &&
			 *insn >> 4 != 4)
			break;
	}
	if (lock)
		return ATOMIC;
	if (size < 2)
		return PLAIN;
	/* xchg with memory locks by itself */
	if ((*insn == 0x86 || *insn == 0x87) && insn[1] < 0xc0)
		return ATOMIC;
	if (*insn != 0x0f)
		return PLAIN;
	/* mov to cr3 */
	if (size >= 3 && insn[1] == 0x22 && (insn[2] >> 3 & 7) == 3)
		return FLUSH;
	if (size < 3)
		return PLAIN;
	modrm = insn[2];
	/* lfence, mfence, sfence */
	if (insn[1] == 0xae && modrm >= 0xe8)
		return BARRIER;
	/* invlpg */
	if (insn[1] == 0x01 && modrm < 0xc0 && (modrm >> 3 & 7) == 7)
		return FLUSH;
	return PLAIN;
}

static enum kind kind_of(const struct qemu_plugin_insn *insn, unsigned int *mark)
{
	const void *data = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);
	uint32_t word;

	if (!arm64)
		return x86_kind(data, size, mark);
	memcpy(&word, data, sizeof(word));
	return size == sizeof(word) ? arm64_kind(word, mark) : PLAIN;
}

static void on_hot(unsigned int vcpu, void *hot)
{
	if (active && row == hot_row)
		((struct hot *)hot)->count++;
}

static void watch_insn(struct qemu_plugin_insn *insn)
{
	struct hot *hot = malloc(sizeof(*hot));

	if (!hot)
		abort();
	*hot = (struct hot){ hot_insns, qemu_plugin_insn_vaddr(insn) };
	hot_insns = hot;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_hot,
					       QEMU_PLUGIN_CB_NO_REGS, hot);
}

static void count_insn(struct qemu_plugin_insn *insn)
{
	uint64_t * const counter[] = { [ATOMIC] = &run.atomics,
				       [BARRIER] = &run.barriers,
				       [FLUSH] = &run.flushes };
	unsigned int mark;
	enum kind kind = kind_of(insn, &mark);

	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
						   &run.insns, 1);
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW,
					 (void *)(uintptr_t)(kind == ATOMIC));
	if (kind == MARK)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
						       QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)mark);
	else if (kind != PLAIN)
		qemu_plugin_register_vcpu_insn_exec_inline(insn,
				QEMU_PLUGIN_INLINE_ADD_U64, counter[kind], 1);
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < nr; i++)
		count_insn(qemu_plugin_tb_get_insn(tb, i));
	for (i = 0; hot_row && i < nr; i++)
		watch_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void on_end(qemu_plugin_id_t id, void *unused)
{
	struct hot *hot;

	for (hot = hot_insns; hot; hot = hot->next)
		if (hot->count)
			fprintf(out, "hot %#lx %lu\n", hot->addr, hot->count);
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
		else if (!strncmp(argv[i], "hot=", 4))
			hot_row = strtoul(argv[i] + 4, NULL, 10);
	}
	if (!out || !info->system_emulation) {
		fprintf(stderr, "count: needs out=FILE and a system to emulate\n");
		return -1;
	}
	arm64 = !strcmp(info->target_name, "aarch64");
	if (!arm64 && strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "count: no marks are known for %s\n",
			info->target_name);
		return -1;
	}
	pass_begin();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
