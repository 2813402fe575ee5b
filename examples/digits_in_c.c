/* Trains the network that examples/digits_in_c.py exports, which says how to build this:

       digits train.bin test.bin EPOCHS

   A record of a file is a label and 8 x 8 pixels of 0..16, a byte each. */

#include <stdio.h>
#include <stdlib.h>

#include "lenet.h"

#define BATCH 32
#define SIDE 32

static lenet_context context; /* all the memory that training needs */
static float images[BATCH * SIDE * SIDE];
static int32_t labels[BATCH];

/* Reads `count` digits, with each pixel as 4 x 4; returns whether there were as many. */
static int read_digits(FILE *file, int count) {
    unsigned char record[65];
    for (int i = 0; i < count; i++) {
        if (fread(record, 1, sizeof record, file) != sizeof record) {
            return 0;
        }
        labels[i] = record[0];
        for (int place = 0; place < SIDE * SIDE; place++) {
            images[i * SIDE * SIDE + place] = (float)record[1 + place / SIDE / 4 * 8 + place % SIDE / 4] / 8.0f - 1.0f;
        }
    }
    return 1;
}

int main(int count, char **arguments) {
    FILE *train = count == 4 ? fopen(arguments[1], "rb") : NULL, *test = count == 4 ? fopen(arguments[2], "rb") : NULL;
    if (train == NULL || test == NULL || fseek(train, 0, SEEK_END) != 0) {
        return 1;
    }
    const int epochs = atoi(arguments[3]), batches = (int)(ftell(train) / 65 / BATCH / epochs);
    rewind(train);
    lenet_init(&context);
    for (int epoch = 0; epoch < epochs; epoch++) {
        double sum = 0.0;
        for (int batch = 0; batch < batches; batch++) {
            float loss;
            if (!read_digits(train, BATCH) || lenet_step(&context, images, labels, &loss) != 0) {
                return 1;
            }
            sum += (double)loss;
        }
        printf("loss %.9f\n", sum / batches);
    }
    int right = 0, all = 0;
    for (; read_digits(test, 1); all++) {
        float scores[10];
        int best = 0;
        if (lenet_predict(&context, images, scores) != 0) {
            return 1;
        }
        for (int digit = 1; digit < 10; digit++) {
            best = scores[digit] > scores[best] ? digit : best;
        }
        right += best == labels[0];
    }
    printf("%d of %d digits right\n", right, all);
    return 0;
}
