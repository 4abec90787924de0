-- Locks task rows by id and skips what others hold. A missing row: held elsewhere, or no such task.
select k.id from tasks k where k.id = any(:tasks::bigint[]) order by k.id
for no key update skip locked
