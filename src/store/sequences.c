/* sequences.c - numbers that are given once
 *
 * The next number of a kind is one more than the largest stored, or than what the table
 * `sequences` kept when rows were removed. */
#include "store/store_private.h"

#include "base/str.h"

static const struct {
    const char *table;
    bool given_before_stored; /* clients may have seen numbers that a crash has cost */
} kinds[STORE_SEQUENCE_COUNT] = {
    [STORE_JOB_ID] = {"jobs", false},     [STORE_EVENT_ID] = {"events", true},
    [STORE_QUOTE_ID] = {"quotes", true},  [STORE_DECISION_ID] = {"decisions", true},
    [STORE_TOKEN_ID] = {"tokens", false}, [STORE_MODEL_ID] = {"models", false},
};

int sequences_load(struct store *store, size_t gap, struct err *err)
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        struct str sql = {0};
        int64_t next = 1;
        int rc;

        str_addf(&sql,
                 "SELECT max(ifnull((SELECT max(id) + 1 FROM %s), 1),"
                 " ifnull((SELECT next FROM sequences WHERE name = '%s'), 1))",
                 kinds[i].table, kinds[i].table);
        rc = db_number(store->db, str_text(&sql), &next, err);
        str_fini(&sql);
        if (rc < 0)
            return -1;
        if (store->interrupted && kinds[i].given_before_stored)
            next += (int64_t)gap;
        atomic_store(&store->next[i], (uint64_t)next);
    }
    return 0;
}

int sequences_keep(struct store *store, struct err *err)
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        struct str sql = {0};
        int rc;

        str_addf(&sql,
                 "INSERT INTO sequences (name, next) VALUES ('%s',"
                 " max(%llu, ifnull((SELECT max(id) + 1 FROM %s), 1)))"
                 " ON CONFLICT (name) DO UPDATE SET next = max(next, excluded.next)",
                 kinds[i].table, (unsigned long long)atomic_load(&store->next[i]),
                 kinds[i].table);
        rc = db_exec(store->db, str_text(&sql), err);
        str_fini(&sql);
        if (rc < 0)
            return -1;
    }
    return 0;
}

uint64_t store_take_id(struct store *store, enum store_sequence sequence)
{
    return atomic_fetch_add(&store->next[sequence], 1);
}
