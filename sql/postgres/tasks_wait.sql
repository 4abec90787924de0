-- As tasks_lock, but waits for who holds them. A missing row: there is no such task.
select k.id from tasks k where k.id = any(:tasks::bigint[]) order by k.id
for no key update
