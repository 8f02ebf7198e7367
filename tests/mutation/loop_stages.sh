#!/bin/sh
# loop_stages.sh - does a test fail when a stage of the loop is broken?
#
# Works on a copy: one small change at a time in src/loop, each breaking what a stage is
# for, and a unit or scenario test must fail.  Prints the survivors; status 0 when there
# are none.  Takes about two minutes.  With a word as argument only the changes whose
# file or expression has that word are tried.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
only=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$root/src" "$root/tests" "$work"
cd "$work"

compile="${CC:-cc} -std=gnu17 -O1 -D_GNU_SOURCE -Isrc -Itests"
built=$root/build/dev # what is not changed comes from there
[ -e "$built/libcorgi_loop.a" ] || {
    echo "build first: cmake --preset dev && cmake --build --preset dev" >&2
    exit 2
}
libs="$built/libcorgi_loop.a $built/libcorgi_world.a $built/libcorgi_nn.a
    $built/libcorgi_base.a $(pkg-config --libs cmocka clp openblas yaml-0.1 jansson smartcols)
    -lpthread -lm"
units="belief need prior mean refine datasheet record admit occupancy choose plan
    place_check place greedy cluster jobs round"

# The path in one word: src/model/mean.c is src_loop_refine_mean.o.
object_of() {
    echo "$1" | tr / _ | sed 's/\.c$/.o/'
}

objects=
for source in src/loop/*.c src/loop/admit/*.c src/loop/place/*.c src/loop/record/*.c \
    src/lab/policy/prior.c src/model/mean.c src/loop/refine/refine.c \
    src/lab/policy/datasheet.c src/lab/policy/occupancy.c src/lab/policy/choose.c \
    src/loop/optimize/plan.c src/loop/optimize/greedy.c; do
    object=$(object_of "$source")
    $compile -c "$source" -o "$object"
    objects="$objects $object"
done
tests=
for test in $(for unit in $units; do echo "unit/test_$unit"; done) \
    scenario/loop_learning scenario/loop_moving scenario/loop_repeats; do
    $compile -c "tests/$test.c" -o "$(basename "$test").test.o"
    tests="$tests $(basename "$test")"
done

tests_pass() {
    for test in $tests; do
        # shellcheck disable=SC2086
        ${CC:-cc} "$test.test.o" $objects $libs -o "$test.run"
        timeout 60 "./$test.run" >/dev/null 2>&1 || return 1
    done
}

tests_pass || { echo "the tests fail before anything was changed" >&2; exit 2; }

# file|sed expression; a change is written where the reader of the stage would look.
cat > mutants <<'M'
estimate/prior.c|s/&p->types\[type\]/\&p->types[p->type_count - 1 - type]/
estimate/prior.c|s/&p->types\[where->type\], busy/\&p->types[p->type_count - 1 - where->type], busy/
estimate/prior.c|s/known_gb > p->types\[where->type\]/known_gb > 2 * p->types[where->type]/
estimate/prior.c|s/ \* gpu->bandwidth_gbs \/ UNIT_GBS//
estimate/prior.c|s/return log(job->devices \* speed/return log(speed/
estimate/prior.c|s/JOB_TRAINING ? 3 : 1/JOB_TRAINING ? 1 : 3/
estimate/prior.c|s/ \/ p->middle_speed//
belief.c|s/exp(-sd_log \* normal_quantile(confidence))/1/
belief.c|s/exp(-sd_log/exp(sd_log/
belief.c|s/clamp(e->low, least, e->value)/e->low/
belief.c|s/isfinite(out->fits) ? clamp(out->fits, 0, 1) : 0/1/
need.c|s/ - status->steps_done//
need.c|s/need->deadline_s - now_s/need->deadline_s/
need.c|s/return status->required_rate;/return need->rate;/
admit/admit.c|s/fmax(settings->confidence, job->need.confidence)/0.5/
admit/admit.c|s/fmax(settings->confidence, job->need.confidence)/settings->confidence/
admit/admit.c|s/a->watts.value < b->watts.value/a->watts.value > b->watts.value/
admit/admit.c|s/if (p.fits < PREDICT_FITS_LEAST)/if (0)/
admit/admit.c|s/out->promised_rate < needed/out->promised_rate < 0/
admit/admit.c|s/ >= job->devices;/ >= 1;/
admit/admit.c|s/ && !cluster->devices\[d\].failed//
admit/admit.c|s/(!job->types_allowed || job->types_allowed >> type & 1)/true/
optimize/occupancy.c|s/count >= in->settings->share_max/count >= LOOP_MAX_SHARE/
optimize/occupancy.c|s/ || !job->may_share)/)/
optimize/occupancy.c|s/!there\[i\]->job.may_share || //
optimize/occupancy.c|s/if (!cluster_device_usable(in->cluster, device))/if (0)/
optimize/occupancy.c|s/if (job->types_allowed \&\& !(job->types_allowed & type_bit))/if (0)/
optimize/choose.c|s/if (isfinite(best))/if (0)/
optimize/choose.c|s/ || cluster->devices\[d\].type != type//
optimize/choose.c|s/c->scores\[c->order\[at - 1\]\] > c->scores\[d\]/c->scores[c->order[at - 1]] < c->scores[d]/
optimize/greedy.c|s/fmax(in->settings->confidence, job->job.need.confidence)/0.5/
optimize/greedy.c|s/n->host_watts + cluster_idle_watts(in->cluster, node) - n->sleep_watts/0/
optimize/greedy.c|s/cost -= in->settings->progress_watts/cost -= 0 * in->settings->progress_watts/
optimize/greedy.c|s/cost += SHORTFALL_WATTS \*/cost += 0 */
optimize/greedy.c|s/if (fits < PREDICT_FITS_LEAST)/if (0)/
optimize/greedy.c|s/n->state == NODE_AWAKE ? 0 : 1/0/
optimize/greedy.c|s/cost = p.watts.value/cost = 0 * p.watts.value/
optimize/greedy.c|s/after - cost_before(c->greedy, in, device)/after/
optimize/greedy.c|s/job->job.devices > 1 && o->counts\[device\] > 0/0/
optimize/greedy.c|s/waited < 0.8 \* in->settings->grace_s/0/
optimize/greedy.c|s/ || !falls_short(g, in, job)/ || true/
optimize/greedy.c|s/!in->settings->moves || //
optimize/greedy.c|s/!job->job.may_move ||$//
optimize/greedy.c|s/in->now_s - job->placed_s < SETTLE_S/false/
optimize/greedy.c|s/cost < SHORTFALL_WATTS \* 0.1/true/
optimize/greedy.c|s/ \/ job->job.devices;/;/
optimize/greedy.c|s/job == more ? 1 : job->job.devices/job->job.devices/
optimize/greedy.c|s/if (allowed && /if (0 \&\& /
optimize/plan.c|s/plan->awake\[c->devices\[plan->devices\[seat->first + k\]\].node\] = true;/;/
optimize/plan.c|s/node->may_sleep && //
optimize/plan.c|s/in->now_s - node->idle_since_s >= idle_s/true/
optimize/plan.c|s/!in->settings->sleep/0/
place/check.c|s/load\[d\] > 1 && !in->jobs\[i\]->job.may_share/0/
place/check.c|s/load\[d\] > in->settings->share_max/0/
place/check.c|s/!sits_on(status, d) && !cluster_device_usable(in->cluster, d)/0/
place/check.c|s/!sits_on(status, d) && !cluster_device_usable/!cluster_device_usable/
place/check.c|s/cap > type->tdp_watts/0/
place/check.c|s/!(cap >= type->cap_min_watts) || //
place/check.c|s/type->cap_min_watts <= 0 ||$//
place/check.c|s/!plan->awake\[in->cluster->devices\[d\].node\]/0/
place/check.c|s/if (plan->devices\[seat->first + m\] == d)/if (0)/
place/check.c|s/if (status->job.types_allowed &&/if (0 \&\&/
place/check.c|s/seat->job != status->job.id/0/
place/check.c|s/seat->device_count != status->job.devices || //
place/check.c|s/status->job.may_move && in->settings->moves/true/
place/check.c|s/status->job.may_move && in->settings->moves/in->settings->moves/
place/place.c|s/node->state = NODE_WAKING;/;/
place/place.c|s/    set_nodes(in, plan, cluster, true, actions);//
place/place.c|s/    set_nodes(in, plan, cluster, false, actions);//
place/place.c|s/    set_caps(plan, cluster, actions);//
place/place.c|s/    leave_all(status, cluster, in->now_s);/status->device_count = 0;/
place/place.c|s/status->state == JOB_RUNNING ? ACTION_MOVE : ACTION_START/ACTION_START/
place/place.c|s/if (isnan(status->started_s))//
place/place.c|s/    status->placed_s = in->now_s;//
place/place.c|s/seat_all(in, plan, JOB_RUNNING, jobs/seat_all(in, plan, JOB_DONE, jobs/
record/record.c|s/!m->out_of_memory && m->at_s - m->window_s < stable_since_s - 1e-6/0/
record/record.c|s/    out.device_watts = m->device_watts;//
record/record.c|s/    where->cap_watts = d->cap_watts;/where->cap_watts = 0;/
record/record.c|s/subject = i;/;/
record/record.c|s/!(m->rate > 0) || m->rate > RATE_MAX/0/
record/record.c|s/ || status->state != JOB_RUNNING//
record/record.c|s/job_count >$/job_count </
refine/refine.c|s/model->ops->absorb(model->self, seen);//
refine/refine.c|s/rate->source != ESTIMATE_MEASURED/true/
refine/refine.c|s/measured >= rate->low && measured <= rate->high/true/
refine/refine.c|s/fabs(log(fmax(measured/(log(fmax(measured/
refine/mean.c|s/fmin(level->weight + weight, WEIGHT_MAX)/level->weight + weight/
refine/mean.c|s/level->mean += /level->mean = /
refine/mean.c|s/answer.deepest = i;/;/
refine/mean.c|s/sqrt(1 \/ (prior + precision) + spread \* spread)/sqrt(1 \/ (prior + precision))/
model/datasheet.c|s/keys\[2\] = key(LEVEL_FAMILY, kin.family, 0, 0)/keys[2] = key(LEVEL_FAMILY, 0, 0, 0)/
model/datasheet.c|s/keys\[6\] = key(LEVEL_JOB_TYPE, job->id, t, 0)/keys[6] = key(LEVEL_JOB_TYPE, job->id, 0, 0)/
model/datasheet.c|s/keys\[4\] = key(LEVEL_CLASS_TYPE, kin.class, t, 0)/keys[4] = key(LEVEL_CLASS_TYPE, t, 0, 0)/
model/datasheet.c|s/    absorb_rate(m, seen);//
model/datasheet.c|s/map_put(m->out_of_memory, combination_key(m, &seen->where), 1);//
model/datasheet.c|s/sum += fmin(0, prior_log_relative() + a.mean)/sum += prior_log_relative() + a.mean/
model/datasheet.c|s/log(cap_speed);/0;/
model/datasheet.c|s/log(seen->device_watts \/ prior_watts(&m->prior, &seen->where)), 1/0, 1/
model/datasheet.c|s/hash = rng_mix(hash, job->id);/;/
model/datasheet.c|s/(relative + (1 - share) \* surprise)/relative/
model/datasheet.c|s/kin_index, job->id, at)/kin_index, job->id + 1, at)/
model/datasheet.c|s/keys\[0\] = key(LEVEL_TYPE, (uint64_t)where->type, (uint64_t)where->count, 0)/keys[0] = key(LEVEL_TYPE, 0, (uint64_t)where->count, 0)/
model/datasheet.c|s/keys\[1\] = key(LEVEL_PAIR, together, (uint64_t)where->type, 0)/keys[1] = key(LEVEL_PAIR, together, 0, 0)/
model/datasheet.c|s/keys\[4\] = key(LEVEL_PAIR, mine, theirs, t)/keys[4] = key(LEVEL_PAIR, 0, 0, t)/
model/datasheet.c|s/share = alone_sd_now \* alone_sd_now/share = variance/
place/check.c|s/if (seat->device_count == 0)$/if (0)/
optimize/greedy.c|s/in->cluster->devices\[device\].cap_watts, more/0, more/
optimize/greedy.c|s/in->cluster->devices\[job->devices\[k\]\].cap_watts, NULL/0, NULL/
cluster.c|s/!d->failed && !d->drained/!d->failed/
cluster.c|s/!d->failed && !d->drained/!d->drained/
cluster.c|s/c->nodes\[d->node\].idle_since_s = now_s;/;/
jobs.c|s/status->required_rate = job->need.rate;//
round.c|s/if (place_check(in, &loop->plan, err) < 0)/if (0)/
round.c|s/^    note_changes(loop, in->now_s);//
round.c|s/^    note_departures(loop, in->now_s);//
round.c|s/if (action->kind == ACTION_CAP)/if (0)/
round.c|s/refine_absorb(&loop->model, &seen, &loop->score);//
round.c|s/answer->verdict == ADMIT_REFUSED/false/
round.c|s/status->restarts++;//
round.c|s/loop->device_changed_s\[status->devices\[i\]\] = now_s;/;/
round.c|s/fmin(status->job.need.rate, rate \* DEMAND_HEADROOM)/rate * DEMAND_HEADROOM/
round.c|s/            loop_requeue(loop, d->jobs\[0\], now_s, NULL);/d->job_count = 0;/
M

survivors=0
total=0
grep -F -- "$only" mutants > chosen || true
while IFS= read -r line; do
    file=src/loop/${line%%|*}
    change=${line#*|}
    object=$(object_of "$file")
    cp "$file" kept.c
    cp "$object" kept.o
    sed -i "$change" "$file"
    total=$((total + 1))
    if cmp -s "$file" kept.c || ! $compile -w -c "$file" -o "$object"; then
        echo "cannot change $file: $change" >&2
        exit 2
    fi
    if tests_pass; then
        echo "survived: $file $change"
        survivors=$((survivors + 1))
    fi
    cp kept.c "$file"
    cp kept.o "$object"
done < chosen
echo "$total changes, $survivors survived"
[ "$total" -gt 0 ] && [ "$survivors" -eq 0 ]
