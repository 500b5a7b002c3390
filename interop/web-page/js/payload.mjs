/** Runs a script if a page inserts it as markup. */
export const PAYLOAD = '<img src=x onerror=window.executed=1><script>window.executed=1</script>';
