/* The linear sum assignment problem, by shortest augmenting paths (D. Crouse, On implementing 2D rectangular assignment
   algorithms, IEEE Transactions on Aerospace and Electronic Systems 52, 2016): one row after the other gets a column, by
   the cheapest path on which rows assigned before change theirs. */

/* Assigns each of `rows` rows one of at least as many columns, so that the sum of sign * cost is least.

   cost      of row i and column j at i * row_step + j * column_step
   numbers   rows + 2 * columns doubles
   places    2 * rows + 4 * columns integers; the first ones are the results: for each column its row, or -1

   Of equally cheap columns one without a row is taken, otherwise the first that is found. Returns 1 if there is none of finite
   cost, or where a cost is NaN or minus infinity. */
static inline int64_t adjoint_assign(
    const double *cost, int64_t rows, int64_t columns, int64_t row_step, int64_t column_step, double sign, double *numbers,
    int64_t *places
) {
    double *row_price = numbers, *column_price = numbers + rows, *shortest = numbers + rows + columns;
    int64_t *row_of = places, *path = places + columns, *left = places + 2 * columns, *done = places + 3 * columns;
    int64_t *column_of = places + 4 * columns, *seen = places + 4 * columns + rows;
    for (int64_t i = 0; i < rows; i++) {
        row_price[i] = 0;
        column_of[i] = -1;
        for (int64_t j = 0; j < columns; j++)
            if (!(sign * cost[i * row_step + j * column_step] > -INFINITY)) return 1;
    }
    for (int64_t j = 0; j < columns; j++) {
        column_price[j] = 0;
        row_of[j] = -1;
    }
    for (int64_t first = 0; first < rows; first++) {
        int64_t count = columns, sink = -1, i = first;
        double least = 0;
        for (int64_t j = 0; j < columns; j++) {
            left[j] = columns - 1 - j;
            shortest[j] = INFINITY;
            done[j] = 0;
        }
        for (int64_t k = 0; k < rows; k++) seen[k] = 0;
        while (sink < 0) {
            int64_t best = -1;
            double lowest = INFINITY;
            seen[i] = 1;
            for (int64_t k = 0; k < count; k++) {
                int64_t j = left[k];
                double length = least + sign * cost[i * row_step + j * column_step] - row_price[i] - column_price[j];
                if (length < shortest[j]) {
                    path[j] = i;
                    shortest[j] = length;
                }
                if (shortest[j] < lowest || (shortest[j] == lowest && row_of[j] < 0)) {
                    lowest = shortest[j];
                    best = k;
                }
            }
            if (lowest == INFINITY) return 1;
            least = lowest;
            int64_t j = left[best];
            done[j] = 1;
            left[best] = left[--count];
            if (row_of[j] < 0) sink = j;
            else i = row_of[j];
        }
        row_price[first] += least;
        for (int64_t k = 0; k < rows; k++)
            if (seen[k] && k != first) row_price[k] += least - shortest[column_of[k]];
        for (int64_t j = 0; j < columns; j++)
            if (done[j]) column_price[j] -= least - shortest[j];
        for (int64_t j = sink, more = 1; more;) {
            int64_t row = path[j], before = column_of[row];
            row_of[j] = row;
            column_of[row] = j;
            more = row != first;
            j = before;
        }
    }
    return 0;
}
